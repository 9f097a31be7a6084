package agent_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/test/cloud/machine"
)

// The test's program is also the world's and its machines'.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(machine.Guest(os.Args[1:]))
	}
	code := m.Run()
	built.Lock()
	_ = os.RemoveAll(built.dir) // where nothing was built, it is ""
	os.Exit(code)
}

// needs skips a test without the means for it.
func needs(t *testing.T) {
	t.Helper()
	missing := ""
	if os.Getuid() != 0 {
		missing = "root"
	}
	for _, p := range []string{"/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmdbd", "/usr/sbin/mariadbd", "/usr/sbin/slurmd"} {
		if _, err := os.Stat(p); err != nil {
			missing = p
		}
	}
	if missing == "" {
		return
	}
	if os.Getenv("MUSTER_CI") != "" {
		t.Fatal("needs " + missing)
	}
	t.Skip("needs " + missing)
}

// TestBoot runs TestInside in namespaces of its own.
func TestBoot(t *testing.T) { enter(t, "TestInside") }

// enter runs a test in namespaces of its own.
func enter(t *testing.T, name string) {
	t.Helper()
	if machine.Inside() {
		t.Skip("this is the inside")
	}
	if testing.Short() {
		t.Skip("boots machines")
	}
	needs(t)
	t.Parallel() // a boot waits much and computes little
	program := muster(t)
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var printed bytes.Buffer
	cmd, err := machine.Enter(l, &printed, &printed, "-test.run=^"+name+"$", "-test.v", program)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &printed)
	}
}

// burnInFile is the part of muster.yaml for the queue worn.
const burnInFile = "BurnIn: {Queues: [worn], Suites: [collectives], Minutes: 4}\n"

const clusterFile = `Region: us-east-2
Image:
  Os: alinux2023
HeadNode:
  InstanceType: c5.large
  Networking:
    SubnetId: subnet-0123456789abcdef0
  CustomActions:
    OnNodeConfigured:
      Script: s3://bucket/configured.sh
      Args: [hello, "two words"]
Scheduling:
  Scheduler: slurm
  SlurmSettings:
    ScaledownIdletime: 1
  SlurmQueues:
    - Name: gpu
      Networking:
        SubnetIds: [subnet-0123456789abcdef0]
      CustomActions:
        OnNodeStart:
          Sequence:
            - Script: s3://bucket/start.sh
              Args: [one]
            - Script: s3://bucket/start.sh
              Args: [two]
      ComputeResources:
        - Name: p5
          InstanceType: p5.48xlarge
          MinCount: 0
          MaxCount: 2
    - Name: bad
      Networking:
        SubnetIds: [subnet-0123456789abcdef0]
      CustomActions:
        OnNodeStart:
          Script: s3://bucket/bad.sh
      ComputeResources:
        - Name: p5
          InstanceType: p5.48xlarge
          MinCount: 0
          MaxCount: 1
    - Name: dead
      Networking:
        SubnetIds: [subnet-0123456789abcdef0]
      CustomActions:
        OnNodeStart:
          Script: s3://bucket/dead.sh
      ComputeResources:
        - Name: p5
          InstanceType: p5.48xlarge
          MinCount: 0
          MaxCount: 1
    - Name: worn
      Networking:
        SubnetIds: [subnet-0123456789abcdef0]
      CustomActions:
        OnNodeConfigured:
          Script: s3://bucket/worn.sh
      ComputeResources:
        - Name: p5
          InstanceType: p5.48xlarge
          MinCount: 0
          MaxCount: 1
LoginNodes:
  Pools:
    - Name: login
      InstanceType: c5.large
      Count: 1
      Networking:
        SubnetIds: [subnet-0123456789abcdef0]
      CustomActions:
        OnNodeConfigured:
          Script: s3://bucket/login.sh
SharedStorage:
  - Name: fsx
    MountDir: /fsx
    StorageType: FsxLustre
    FsxLustreSettings:
      StorageCapacity: 1200
      DeploymentType: SCRATCH_2
`

const workloadFile = `Directories:
  - {Path: /fsx/checkpoints, Mode: "2775"}
Accounts:
  - {Name: research, Users: [root, daemon], GrpTRES: gres/gpu=32, MaxWall: 90}
QOS:
  - {Name: urgent, Priority: 10, Preempt: [normal]}
`

// configured sends jobs on their way when the head node is ready, and leaves what
// they say on shared storage.
const configured = `#!/bin/sh
echo "configured with $# arguments: $1, $2"
cat >/home/task <<'TASK'
#!/bin/sh
echo "$(hostname) has $SLURM_GPUS_ON_NODE GPUs, $(tr '\n' ' ' </started)"
touch "/home/$(hostname)"
TASK
cat >/home/jobs <<'JOBS'
#!/bin/sh
sleep 1
sbatch --partition=bad --output=/dev/null --wrap=true
sbatch --partition=dead --output=/dev/null --wrap=true
sbatch --partition=worn --output=/fsx/worn.out --wrap='hostname; cat /var/lib/muster/burn-in/fitness.json'
{
	srun --partition=gpu --nodes=2 --gpus-per-node=8 --time=5 sh /home/task
	echo "exit code $?"
	ls /home
	sacctmgr --noheader --parsable2 show association account=research WOPLimits format=user,grptres,maxwall,qos
	scontrol show config | grep -E '^(AccountingStorageEnforce|PreemptType) '
	setpriv --reuid=games --regid=games --clear-groups sbatch --chdir=/ --output=/dev/null --wrap=true
} >/fsx/out.new 2>&1
mv /fsx/out.new /fsx/out
JOBS
setsid sh /home/jobs >/dev/null 2>&1 </dev/null &
`

// inside makes a cloud with the head node of a cluster file, whose agent waits as limits
// say (MUSTER_LIMITS); as many mounts as late come before the file system's name is known.
func inside(t *testing.T, file, limits string, late int) *cloud {
	t.Helper()
	if !machine.Inside() {
		t.Skip("TestBoot runs this in namespaces of its own")
	}
	if _, err := machine.Arrive(); err != nil {
		t.Fatal(err)
	}
	c := newCloud(t)
	c.late = late
	program, err := os.ReadFile(flag.Arg(0)) // muster, which the test outside built
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(program)
	ticket := manifest.Ticket{Cluster: "train", Region: "us-east-2", Bucket: "bucket", Role: manifest.RoleHead,
		Program: manifest.Program{Key: "programs/muster", SHA256: hex.EncodeToString(sum[:])}}
	c.putObject("programs/muster", string(program))
	c.putObject("configured.sh", configured)
	c.putObject("broken.sh", broken)
	c.putObject("dead.sh", dead)
	c.putObject("worn.sh", worn)
	c.putObject("poor.sh", "#!/bin/sh\necho \"PARTITION $(sinfo -h -o %R)\" >/fsx/poor\n")
	c.putObject("start.sh", "#!/bin/sh\n. /etc/parallelcluster/cfnconfig\ntest $cfn_node_type/$cfn_head_node_private_ip = ComputeFleet/10.0.0.5 || exit\necho $1 >>/started\n")
	c.putObject("login.sh", "#!/bin/sh\nscontrol ping >/fsx/login 2>&1\nls /home >>/fsx/login\n")
	c.putObject("bad.sh", "#!/bin/sh\necho this cannot work >&2\nexit 3\n")
	c.putObject(manifest.FileKey("train"), file)
	workload := workloadFile
	if strings.Contains(file, "worn.sh") {
		workload += burnInFile
	}
	c.putObject(manifest.WorkloadKey("train"), workload)
	c.write(t, "first")
	head := userDataWithLimits(t, ticket, limits)
	ticket.Role, ticket.Head, ticket.Queue, ticket.Resource = manifest.RoleCompute, "10.0.0.5", "gpu", "p5"
	c.compute = map[string]string{"train-gpu-p5": userDataWithLimits(t, ticket, "poll=1s,head-gone=3s")}
	ticket.Queue, ticket.Resource = "bad", "p5"
	c.compute["train-bad-p5"] = manifest.UserData(ticket)
	ticket.Queue = "dead"
	c.compute["train-dead-p5"] = manifest.UserData(ticket)
	ticket.Queue = "worn"
	c.compute["train-worn-p5"] = manifest.UserData(ticket)
	ticket.Role, ticket.Queue, ticket.Resource = manifest.RoleLogin, "login", ""
	c.login = manifest.UserData(ticket)
	c.launchHead(t, head)
	return c
}

func (c *cloud) launchHead(t *testing.T, data string) {
	t.Helper()
	err := c.world.Launch(machine.Instance{ID: "i-0000000000000head", Type: "c5.large", Region: "us-east-2", Zone: "us-east-2a", Role: "head",
		Address: netip.MustParseAddr("10.0.0.5"), UserData: []byte(data)})
	if err != nil {
		t.Fatal(err)
	}
}

// userDataWithLimits is user data of a machine whose agent waits as limits say.
func userDataWithLimits(t *testing.T, k manifest.Ticket, limits string) string {
	t.Helper()
	before, after, ok := strings.Cut(manifest.UserData(k), "umask 022\n")
	if !ok {
		t.Fatal("user data has changed")
	}
	return before + "umask 022\nexport MUSTER_LIMITS=" + limits + "\n" + after
}

// write puts a revision of the site.
func (c *cloud) write(t *testing.T, revision string) {
	t.Helper()
	data, err := json.Marshal(manifest.Site{
		Cluster: "train", Revision: revision, Region: "us-east-2", Bucket: "bucket", LogGroup: "/muster/train",
		Subnets: map[string][]string{"": {"subnet-0123456789abcdef0"}, "gpu": {"subnet-0123456789abcdef0"}},
		Storage: []manifest.Storage{{Name: "fsx", Type: "FsxLustre", MountDir: "/fsx", IDs: []string{"fs-1"}, Host: "fs-1.fsx.us-east-2.amazonaws.com", Export: "abcd"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.putObject(manifest.SiteKey("train"), string(data))
}

// patience is how long anything may take that comes at all.
const patience = 10 * time.Minute

// await waits until something is so, and shows all that is known if it never is.
func (c *cloud) await(t *testing.T, what string, limit time.Duration, f func() bool) {
	t.Helper()
	limit = max(limit, patience)
	for end := time.Now().Add(limit); !f(); <-time.After(50 * time.Millisecond) {
		s := c.head()
		if time.Now().Before(end) && (s.Phase != manifest.Failed || what == "failed") {
			continue
		}
		text, _ := json.MarshalIndent(s, "", " ")
		t.Errorf("not %s after %s\n%s", what, limit, text)
		logs, _ := filepath.Glob(filepath.Join(c.world.Dir, "*", "*.log"))
		more, _ := filepath.Glob(filepath.Join(c.world.Dir, "roots", "*", "upper", "var", "log", "muster", "*"))
		for _, path := range append(logs, more...) {
			data, _ := os.ReadFile(path)
			t.Logf("%s\n%s", path, data[max(0, len(data)-3000):])
		}
		t.FailNow()
	}
}

// file is a file of a machine's own disk.
func (c *cloud) file(id, name string) string {
	data, _ := os.ReadFile(filepath.Join(c.world.Dir, "roots", id, "upper", name))
	return string(data)
}

// gone tells whether all machines that were launched for a node have ended.
func (c *cloud) gone(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := false
	for _, i := range c.instances {
		if i.Tags["muster:nodes"] == node {
			found = true
			if i.State != "terminated" {
				return false
			}
		}
	}
	return found
}

func TestInside(t *testing.T) {
	c := inside(t, clusterFile, "accounting=10m", 0)
	c.await(t, "ready", 3*time.Minute, func() bool { return c.head().Phase == manifest.Ready })
	for _, s := range c.head().Steps {
		t.Logf("%6.2f s  %s: %s", s.Seconds, s.Name, s.Detail)
	}
	c.await(t, "done with the job", 2*time.Minute, func() bool { return c.shared("out") != "" })
	out := c.shared("out")
	for _, want := range []string{"gpu-dy-p5-1 has 8 GPUs, one two", "gpu-dy-p5-2 has 8 GPUs, one two", "exit code 0", "\ngpu-dy-p5-1\ngpu-dy-p5-2\n",
		"\n|gres/gpu=32|01:30:00|normal,urgent\n", "\ndaemon|||\n", "= associations,limits,qos,safe\n", "= preempt/qos\n", "Invalid account"} {
		if !strings.Contains(out, want) {
			t.Errorf("the job printed %q, and not %q", out, want)
		}
	}
	if info, err := os.Stat(filepath.Join(c.world.Dir, "filesystems", "fs-1", "checkpoints")); err != nil || info.Mode().String() != "dgrwxrwxr-x" {
		t.Errorf("/fsx/checkpoints: %v, %v", info, err)
	}
	c.await(t, "in CloudWatch", time.Minute, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.logged["ip-10-0-0-5.i-0000000000000head.agent"] > 0 && c.measured > 0
	})
	c.ridOfTheUnfit(t)
	c.replaceAgent(t, "train-head")
	c.write(t, "second")
	c.await(t, "updated", time.Minute, func() bool { return c.head().Revision == "second" })
	c.mu.Lock()
	c.instances = append(c.instances, &instance{ID: "i-0000000000000log1", Address: "10.0.0.6", State: "running", Tags: map[string]string{"muster:role": "login"}})
	c.mu.Unlock()
	err := c.world.Launch(machine.Instance{ID: "i-0000000000000log1", Type: "c5.large", Region: "us-east-2", Zone: "us-east-2a", Role: "login",
		Address: netip.MustParseAddr("10.0.0.6"), UserData: []byte(c.login)})
	if err != nil {
		t.Fatal(err)
	}
	c.await(t, "seen by a login node", time.Minute, func() bool { return strings.Contains(c.shared("login"), "gpu-dy-p5-2") })
	if got := c.shared("login"); !strings.Contains(got, "Slurmctld(primary) at train-head is UP") {
		t.Errorf("the login node says %q", got)
	}
	if got := c.file("i-0000000000000log1", "etc/ssh/ssh_host_ed25519_key.pub"); !strings.HasPrefix(got, "ssh-ed25519 ") {
		t.Errorf("the login node has the host key %q, and not its pool's", got)
	}
	// Without a head node, nodes that do nothing end themselves.
	if err := c.world.Terminate("i-0000000000000head"); err != nil {
		t.Fatal(err)
	}
	c.await(t, "rid of nodes without a head node", time.Minute, func() bool { return c.gone("gpu-dy-p5-[1-2]") })
}
