package aws

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/remains"
)

// bootedFile has a queue with GPU nodes of two kinds, and one with others.
const bootedFile = `Region: us-east-2
Image: {Os: alinux2023}
HeadNode:
  InstanceType: c6i.xlarge
  Ssh: {AllowedIps: 10.0.0.0/16}
Scheduling:
  Scheduler: slurm
  ScalingStrategy: all-or-nothing
  SlurmSettings:
    ScaledownIdletime: 1
    CustomSlurmSettings: [{SlurmdParameters: config_overrides}]
  SlurmQueues:
    - Name: gpu
      JobExclusiveAllocation: true
      ComputeResources:
        - {Name: p5, InstanceType: p5.48xlarge, MinCount: 0, MaxCount: 4}
        - {Name: p4, InstanceType: p4d.24xlarge, MinCount: 0, MaxCount: 4}
    - Name: cpu
      ComputeResources:
        - {Name: small, InstanceType: c6i.large, MinCount: 0, MaxCount: 4}
Monitoring: {Logs: {CloudWatch: {DeletionPolicy: Delete}}}
`

// booted is a cluster on a double whose machines boot.
type booted struct {
	t             *testing.T
	cloud, double string
	user          string
	aws           aws.Config
	submitted     atomic.Int64 // when the last job was
}

// newBooted brings a cluster up. It is taken down when the test ends, and nothing may
// be left.
func newBooted(t *testing.T) *booted {
	t.Helper()
	needMachines(t)
	needMoto(t)
	base, err := os.MkdirTemp("/var/tmp", "muster-aws-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	b := &booted{t: t, cloud: program(t, "muster-cloud"), double: filepath.Join(base, "cloud"), user: filepath.Join(base, name)}
	b.startWorld(filepath.Join(base, "log"))
	if err := os.Mkdir(b.user, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.user, "cluster.yaml"), []byte(bootedFile), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.end)
	b.must("exec", b.double, program(t, "muster"), "up", "cluster.yaml", "--on", "aws", "--yes")
	return b
}

func (b *booted) startWorld(log string) {
	b.t.Helper()
	said, err := os.Create(log)
	if err != nil {
		b.t.Fatal(err)
	}
	defer said.Close()
	world := exec.Command(b.cloud, "run", b.double)
	world.Stdout, world.Stderr = said, said
	world.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is ours to pass on
	if err := world.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = world.Process.Signal(syscall.SIGTERM)
		_ = world.Wait() // it was told to end
		if text, err := os.ReadFile(log); err == nil && b.t.Failed() {
			b.t.Logf("the double said:\n%s", text)
		}
	})
	b.await("the double", time.Minute, func() bool {
		_, err := os.Stat(filepath.Join(b.double, "env"))
		return err == nil
	})
	env, err := os.ReadFile(filepath.Join(b.double, "env"))
	if err != nil {
		b.t.Fatal(err)
	}
	_, url, _ := strings.Cut(string(env), "MUSTER_CLOUD_OUTSIDE=")
	b.aws = aws.Config{
		Region: "us-east-2", BaseEndpoint: aws.String(strings.TrimSpace(url)), HTTPClient: &http.Client{Transport: cloud.Transport()},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "looker", SecretAccessKey: "looker", Source: "test"}, nil
		}),
	}
}

// end takes the cluster down. Nothing may be left of it.
func (b *booted) end() {
	b.t.Helper()
	if b.t.Failed() {
		out, err := b.head("sh", "-c", "sinfo -Nl; squeue; scontrol show job; tail -n 40 $(find /var/log/muster /var/log/slurm /var/log/slurmctld.log /var/log/agent.log -name '*.log')")
		b.t.Logf("the head node: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), patience)
	defer cancel()
	cmd := b.command(ctx, "exec", b.double, program(b.t, "muster"), "down", "--delete-data", "--yes")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Errorf("down: %v\n%s", err, out)
	}
	if left, err := remains.Of(ctx, b.aws); err != nil || len(left) > 0 {
		b.t.Errorf("left is %q, %v", left, err)
	}
}

func (b *booted) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.cloud, args...)
	cmd.Dir = b.user
	cmd.Env = append(os.Environ(), "HOME="+b.user, "MUSTER_HOME="+filepath.Join(b.user, ".muster"))
	return cmd
}

// must runs muster-cloud, which has to succeed, and returns what it said.
func (b *booted) must(args ...string) string {
	b.t.Helper()
	out, err := b.try(args...)
	if err != nil {
		b.t.Fatalf("muster-cloud %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (b *booted) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	out, err := b.command(ctx, args...).CombinedOutput()
	return string(out), err
}

// head runs a command on the head node as root.
func (b *booted) head(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), patience)
	defer cancel()
	var out, complaints bytes.Buffer
	cmd := b.command(ctx, append([]string{"head", b.double}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, &complaints)
	}
	return out.String(), nil
}

func (b *booted) await(what string, limit time.Duration, so func() bool) {
	b.t.Helper()
	deadline, tick := time.After(limit), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("waited %v for %s", limit, what)
		}
	}
}

// instances are the fleet's of a type, ended ones too.
func (b *booted) instances(kind types.InstanceType) []types.Instance {
	out, err := ec2.NewFromConfig(b.aws).DescribeInstances(b.t.Context(), &ec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: aws.String("instance-type"), Values: []string{string(kind)}},
	}})
	if err != nil {
		b.t.Errorf("look at the instances: %v", err)
		return nil
	}
	var all []types.Instance
	for _, r := range out.Reservations {
		all = append(all, r.Instances...)
	}
	return all
}

func runs(i types.Instance) bool {
	return i.State.Name == types.InstanceStateNameRunning || i.State.Name == types.InstanceStateNamePending
}

// nodeOf is which node an instance is, by its tags.
func nodeOf(i types.Instance) string {
	var nodes []string
	for _, t := range i.Tags {
		switch aws.ToString(t.Key) {
		case "muster:node":
			return aws.ToString(t.Value)
		case "muster:nodes":
			nodes, _ = slurm.Expand(aws.ToString(t.Value))
		}
	}
	if n := int(aws.ToInt32(i.AmiLaunchIndex)); n < len(nodes) {
		return nodes[n]
	}
	return ""
}

// doubles are nodes that have more than one instance now.
func doubles(all []types.Instance) []string {
	of := map[string][]string{}
	for _, i := range all {
		if runs(i) {
			of[nodeOf(i)] = append(of[nodeOf(i)], aws.ToString(i.InstanceId))
		}
	}
	var found []string
	for node, ids := range of {
		if node == "" || len(ids) > 1 {
			found = append(found, fmt.Sprintf("%q has %v", node, ids))
		}
	}
	slices.Sort(found)
	return found
}

const (
	p5    = types.InstanceTypeP548xlarge
	p4    = types.InstanceTypeP4d24xlarge
	small = types.InstanceTypeC6iLarge
	// rounds are how often the GPU nodes are resumed and suspended.
	rounds = 2
	// Slurm writes down a job up to five seconds after sbatch has its number: a
	// slurmctld that is killed before has forgotten it. Jobs sleep for computes, so
	// they do not end before busy either.
	written, busy, computes = 6 * time.Second, 10 * time.Second, "10"
)

// agent is the head node's, as pkill finds it by its command line.
const agent = "^/opt/muster/bin/muster agent --ticket"

const slurmctld = "^/usr/sbin/slurmctld"

// victims are processes of the head node. Slurm's daemon comes twice: it is often
// spared.
var victims = []string{"^/opt/muster/bin/muster controller", agent, slurmctld, slurmctld}

// startAgent does what systemd does on a real head node if the agent ends: here
// there is no systemd.
const startAgent = `pgrep -f '` + agent + `' || xargs -0 -a /proc/1/environ sh -c '
	env -i "$@" setsid /opt/muster/bin/muster agent --ticket /etc/muster/ticket.json >>/var/log/agent.log 2>&1 </dev/null &' sh`

// TestMachines tries one cluster whose machines boot.
func TestMachines(t *testing.T) {
	t.Parallel()
	b := newBooted(t)
	b.killedWhileNodesCome()
	b.capacityElsewhere()
	b.allOrNothing()
}

// killedWhileNodesCome kills daemons of the head node at random moments while jobs
// resume four GPU nodes, and those are suspended again. Every job ends well, no node
// ever has two instances, and none is left.
func (b *booted) killedWhileNodesCome() {
	const seed = 11
	ctx, stop := context.WithCancel(b.t.Context())
	defer stop()
	var group sync.WaitGroup
	killed := map[string]int{}
	group.Go(func() {
		dice := rand.New(rand.NewPCG(seed, seed))
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(300+dice.IntN(2500)) * time.Millisecond):
				victim := victims[dice.IntN(len(victims))]
				if age := time.Since(time.Unix(0, b.submitted.Load())); victim == slurmctld && (age < written || age > busy) {
					continue
				}
				if _, err := b.head("pkill", "-KILL", "-f", victim); err == nil {
					killed[victim]++
				}
				if victim == agent {
					_, _ = b.head("sh", "-c", startAgent) // if not, the next time
				}
			}
		}
	})
	most := 0
	group.Go(func() {
		tick := time.NewTicker(150 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			all := b.instances(p5)
			if found := doubles(all); len(found) > 0 {
				b.t.Errorf("nodes with two instances: %v", found)
			}
			n := 0
			for _, i := range all {
				if runs(i) {
					n++
				}
			}
			most = max(most, n)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	began := time.Now()
	for n := range rounds {
		b.job(fmt.Sprintf("round %d", n), "--partition=gpu", "--nodes=4", "--nodelist=gpu-dy-p5-[1-4]")
		b.await("the nodes to be suspended", 2*time.Minute, func() bool {
			_, _ = b.head("scontrol", "update", "nodename=gpu-dy-p5-[1-4]", "state=power_down") // slurmctld may be away
			return !slices.ContainsFunc(b.instances(p5), runs)
		})
	}
	stop()
	group.Wait()
	b.t.Logf("%d rounds in %.0f s; killed %v; %d instances launched, at most %d at once", rounds, time.Since(began).Seconds(), killed, len(b.instances(p5)), most)
	if len(killed) < 2 || most != 4 {
		b.t.Errorf("killed %v, %d instances at once: nothing was tried", killed, most)
	}
}

// job submits a job until slurmctld takes it, and waits for its end.
func (b *booted) job(what string, options ...string) {
	b.t.Helper()
	id := ""
	line := append([]string{"sbatch", "--parsable", "--requeue", "--job-name=" + strings.ReplaceAll(what, " ", "-"), "--output=/home/%j.out", "--wrap", "srun sleep " + computes}, options...)
	b.await(what+" to be submitted", time.Minute, func() bool {
		out, err := b.head(line...)
		id = strings.TrimSpace(out)
		return err == nil && id != ""
	})
	b.submitted.Store(time.Now().UnixNano())
	state := ""
	b.await(what+" to end", 2*time.Minute, func() bool {
		out, err := b.head("scontrol", "show", "job", id)
		_, rest, ok := strings.Cut(out, "JobState=")
		if err == nil && ok {
			state, _, _ = strings.Cut(rest, " ")
		}
		return state == "COMPLETED" || state == "FAILED" || state == "NODE_FAIL" || state == "CANCELLED" || state == "TIMEOUT"
	})
	if state != "COMPLETED" {
		out, _ := b.head("scontrol", "show", "job", id)
		b.t.Errorf("%s: job %s is %s\n%s", what, id, state, out)
	}
}

// capacityElsewhere has no machines for the first compute resource of a queue: the
// job runs on the other.
func (b *booted) capacityElsewhere() {
	b.must("capacity", b.double, string(p5), "0")
	before, began := len(b.instances(p5)), time.Now()
	b.job("capacity elsewhere", "--partition=gpu", "--nodes=2")
	b.t.Logf("without capacity for p5.48xlarge the job ran elsewhere within %.1f s", time.Since(began).Seconds())
	if n := len(b.instances(p5)); n != before {
		b.t.Errorf("%d p5.48xlarge were launched without capacity", n-before)
	}
	if n := len(b.instances(p4)); n != 2 {
		b.t.Errorf("%d p4d.24xlarge were launched for a job of 2 nodes", n)
	}
}

// allOrNothing has one machine for a job of two nodes: none is launched.
func (b *booted) allOrNothing() {
	b.must("capacity", b.double, string(small), "1")
	out, err := b.head("sbatch", "--parsable", "--output=/home/%j.out", "--partition=cpu", "--nodes=2", "--exclusive", "--wrap", "srun hostname")
	if err != nil {
		b.t.Fatal(err)
	}
	id := strings.TrimSpace(out)
	b.await("the launch to be refused", time.Minute, func() bool {
		out, err := b.head("sinfo", "--noheader", "--Node", "--partition=cpu", "--format=%N %t %E")
		return err == nil && strings.Contains(strings.ToLower(out), "capacity")
	})
	if n := len(b.instances(small)); n != 0 {
		b.t.Errorf("%d c6i.large were launched for a job that cannot have both", n)
	}
	if _, err := b.head("scancel", id); err != nil {
		b.t.Error(err)
	}
}
