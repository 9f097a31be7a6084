package slurm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/test/freeport"
)

func TestSetAddressesAsksOnceForAThousand(t *testing.T) {
	var names, addresses []string
	for i := range 2500 {
		names, addresses = append(names, fmt.Sprintf("n-%d", i)), append(addresses, fmt.Sprintf("10.0.%d.%d", i/250, i%250))
	}
	p := &programs{}
	if err := (Client{Runner: p}).SetAddresses(t.Context(), names, addresses); err != nil {
		t.Fatal(err)
	}
	if len(p.asked) != 3 || !strings.HasPrefix(p.asked[2], "scontrol update NodeName=n-2000,n-2001,") || !strings.HasSuffix(p.asked[2], ",10.0.9.249") {
		t.Errorf("asked %d times", len(p.asked))
	}
	if err := (Client{Runner: p}).SetAddresses(t.Context(), nil, nil); err != nil || len(p.asked) != 3 {
		t.Errorf("asked for nothing: %v", err)
	}
	if err := (Client{Runner: p}).SetAddresses(t.Context(), names[:2], addresses[:1]); err == nil || len(p.asked) != 3 {
		t.Error("two names and one address are taken")
	}
}

// slurmctld starts one with cloud nodes, and nothing else.
func slurmctld(t *testing.T, nodes int) Client {
	t.Helper()
	const program = "/usr/sbin/slurmctld"
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("slurmctld is not installed")
		}
		t.Skip("slurmctld is not installed")
	}
	dir := t.TempDir()
	port := freeport.OnLoopback(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	conf := filepath.Join(dir, "slurm.conf")
	text := fmt.Sprintf(`ClusterName=t
SlurmctldHost=%[5]s(127.0.0.1)
SlurmctldPort=%[1]d
AuthType=auth/none
CredType=cred/none
SlurmUser=%[2]d
StateSaveLocation=%[3]s
SlurmctldPidFile=%[3]s/pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
PrivateData=cloud
ResumeProgram=/bin/true
SuspendProgram=/bin/true
SuspendTime=600
SuspendTimeout=1
SlurmctldParameters=idle_on_node_suspend,power_save_interval=1
NodeName=q-dy-r-[1-%[4]d] CPUs=2 State=CLOUD
PartitionName=q Nodes=q-dy-r-[1-%[4]d] State=UP
`, port, os.Getuid(), dir, nodes, host)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-D", "-f", conf)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	c := Client{Runner: Exec{Conf: conf}}
	await(t, c)
	return c
}

// await waits until slurmctld answers.
func await(t *testing.T, c Client) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		err := c.Ping(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func TestFleetWithSlurmctld(t *testing.T) {
	const count = 1000
	c := slurmctld(t, count)
	var names, addresses []string
	for i := count; i > 0; i-- { // not in Slurm's order
		names, addresses = append(names, fmt.Sprintf("q-dy-r-%d", i)), append(addresses, fmt.Sprintf("10.%d.%d.%d", i%7, i%11, i%250+1))
	}
	has := func(want []string) {
		t.Helper()
		nodes, err := c.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, n := range nodes {
			got[n.Name] = n.Address
		}
		for i, n := range names {
			if got[n] != want[i] {
				t.Fatalf("%s is at %q, want %q", n, got[n], want[i])
			}
		}
	}
	has(names)
	if err := c.SetAddresses(t.Context(), names, addresses); err != nil {
		t.Fatal(err)
	}
	has(addresses)
	if err := c.SetAddresses(t.Context(), names, names); err != nil {
		t.Fatal(err)
	}
	has(names)
	if err := c.SetAddresses(t.Context(), []string{"no-such-node"}, []string{"10.0.0.1"}); err == nil || !strings.Contains(err.Error(), "Invalid node name") {
		t.Errorf("of an unknown node: %v", err)
	}
	reserve(t, c)
	closePartition(t, c)
	returnToThePool(t, c)
	answerWhileOff(t, c)
}

// answerWhileOff holds what the fleet does with nodes that are off and that Slurm gives no
// job, because it has noted that they do not answer: a power-down takes that away.
func answerWhileOff(t *testing.T, c Client) {
	t.Helper()
	nodes := []string{"q-dy-r-3"}
	state := func() NodeState {
		all, err := c.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all[slices.IndexFunc(all, func(n Node) bool { return n.Name == nodes[0] })].State
	}
	if err := c.UpdateNodes(t.Context(), nodes, "NoResp", ""); err != nil {
		t.Fatal(err)
	}
	if got := state().String(); got != "IDLE+CLOUD+POWERED_DOWN+NOT_RESPONDING" {
		t.Fatalf("it is %s", got)
	}
	if err := c.UpdateNodes(t.Context(), nodes, "POWER_DOWN", ""); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); state().String() != "IDLE+CLOUD+POWERED_DOWN"; <-time.After(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is %s", state())
		}
	}
}

func reserve(t *testing.T, c Client) {
	t.Helper()
	is := func(want ...Reservation) {
		t.Helper()
		got, err := c.Reservations(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
	}
	is()
	for _, list := range []string{"q-dy-r-[1-4]", "q-dy-r-[1-4]", "q-dy-r-[2-3]"} {
		nodes, err := Expand(list)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Reserve(t.Context(), "muster-cr-1", nodes); err != nil {
			t.Fatal(err)
		}
		is(Reservation{Name: "muster-cr-1", NodeList: list})
	}
	for range 2 {
		if err := c.Unreserve(t.Context(), "muster-cr-1"); err != nil {
			t.Fatal(err)
		}
		is()
	}
}

func closePartition(t *testing.T, c Client) {
	t.Helper()
	for _, state := range []string{"INACTIVE", "UP"} {
		if err := c.SetPartition(t.Context(), "q", state); err != nil {
			t.Fatal(err)
		}
		all, err := c.Partitions(t.Context())
		if err != nil || len(all) != 1 || all[0].State != state {
			t.Errorf("%+v, %v, want %s", all, err, state)
		}
	}
}

// returnToThePool holds what the fleet does with nodes whose compute resource
// has no capacity: nodes that are off are set down, and later are off again.
func returnToThePool(t *testing.T, c Client) {
	t.Helper()
	const reason = "muster: no capacity in q/r: (Code:X) it says: [none]"
	nodes := []string{"q-dy-r-1", "q-dy-r-2"}
	state := func() (Node, bool) {
		all, err := c.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n := all[slices.IndexFunc(all, func(n Node) bool { return n.Name == nodes[0] })]
		return n, n.State.Down()
	}
	if err := c.UpdateNodes(t.Context(), nodes, "DOWN", reason); err != nil {
		t.Fatal(err)
	}
	if n, down := state(); !down || !n.State.PoweredDown() || n.Reason != reason {
		t.Errorf("it is %s: %s", n.State, n.Reason)
	}
	if err := c.UpdateNodes(t.Context(), nodes, "POWER_DOWN", ""); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); ; {
		n, down := state()
		if !down && n.State.PoweredDown() && !n.State.PoweringDown() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is %s", n.State)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// BenchmarkNodes is one look at a thousand nodes: scontrol and what is made of it.
func BenchmarkNodes(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("testdata", "slurm-22.05.8", "cloud", "node-1.txt"))
	if err != nil {
		b.Fatal(err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	var all strings.Builder
	for range 1000 {
		all.WriteString(line + "\n")
	}
	for b.Loop() {
		if nodes, _ := parseNodes([]byte(all.String()), nil); len(nodes) != 1000 {
			b.Fatal(len(nodes))
		}
	}
}
