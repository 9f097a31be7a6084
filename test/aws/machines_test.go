package aws

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/test/soak"
)

const (
	p5    = types.InstanceTypeP548xlarge
	p4    = types.InstanceTypeP4d24xlarge
	small = types.InstanceTypeC6iLarge
)

// agent is the head node's, as pkill finds it by its command line.
const agent = "^/opt/muster/bin/muster agent --ticket"

// victims are processes of the head node. Slurm's own is none of them: it writes its
// state down seconds later, and has forgotten jobs and nodes of the last seconds.
var victims = []string{"^/opt/muster/bin/muster controller", agent}

// startAgent does what systemd does on a real head node if the agent ends: here
// there is no systemd.
const startAgent = `pgrep -f '` + agent + `' || xargs -0 -a /proc/1/environ sh -c '
	env -i "$@" setsid /opt/muster/bin/muster agent --ticket /etc/muster/ticket.json >>/var/log/agent.log 2>&1 </dev/null &' sh`

// TestMachines tries one cluster whose machines boot.
func TestMachines(t *testing.T) {
	t.Parallel()
	b := newBooted(t)
	b.killedWhileNodesCome(1)
	b.capacityElsewhere()
	b.allOrNothing()
}

// TestSoak_machines resumes and suspends nodes more often: Slurm leaves a node alone for a minute after that.
func TestSoak_machines(t *testing.T) {
	soak.Only(t, "more rounds of TestMachines, of a minute each")
	t.Parallel()
	newBooted(t).killedWhileNodesCome(4)
}

// killedWhileNodesCome kills daemons of the head node at random moments while jobs
// resume four GPU nodes, and those are suspended again. Every job ends well, no node
// ever has two instances, and none is left.
func (b *booted) killedWhileNodesCome(rounds int) {
	ctx, stop := context.WithCancel(b.t.Context())
	defer stop()
	var group sync.WaitGroup
	killed, most := map[string]int{}, 0
	group.Go(func() { b.kill(ctx, killed) })
	group.Go(func() { most = b.watch(ctx) })
	began := time.Now()
	for n := range rounds {
		b.job(fmt.Sprintf("round %d", n), "--partition=gpu", "--nodes=4", "--nodelist=gpu-dy-p5-[1-4]")
		b.await("the nodes to be suspended", patience, func() bool {
			_, _ = b.head("scontrol", "update", "nodename=gpu-dy-p5-[1-4]", "state=power_down") // slurmctld may be away
			return !slices.ContainsFunc(b.instances(p5), runs)
		})
	}
	stop()
	group.Wait()
	b.t.Logf("%d rounds in %.0f s; killed %v; %d instances launched, at most %d at once", rounds, time.Since(began).Seconds(), killed, len(b.instances(p5)), most)
	if len(killed) < min(rounds, len(victims)) || most != 4 {
		b.t.Errorf("killed %v, %d instances at once: nothing was tried", killed, most)
	}
}

// kill kills one of the victims now and then, and counts them.
func (b *booted) kill(ctx context.Context, killed map[string]int) {
	const seed = 11
	dice := rand.New(rand.NewPCG(seed, seed))
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(300+dice.IntN(2500)) * time.Millisecond):
		}
		victim := victims[dice.IntN(len(victims))]
		if _, err := b.head("pkill", "-KILL", "-f", victim); err == nil {
			killed[victim]++
		}
		if victim == agent {
			_, _ = b.head("sh", "-c", startAgent) // if not, the next time
		}
	}
}

// watch holds that no node has two instances. It returns how many ran at most.
func (b *booted) watch(ctx context.Context) (most int) {
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for {
		all := b.instances(p5)
		if found := doubles(all); len(found) > 0 {
			b.t.Errorf("nodes with two instances: %v", found)
		}
		most = max(most, len(slices.DeleteFunc(all, func(i types.Instance) bool { return !runs(i) })))
		select {
		case <-ctx.Done():
			return most
		case <-tick.C:
		}
	}
}

// job submits a job until slurmctld takes it, and waits for its end.
func (b *booted) job(what string, options ...string) {
	b.t.Helper()
	id := ""
	line := append([]string{"sbatch", "--parsable", "--requeue", "--job-name=" + strings.ReplaceAll(what, " ", "-"), "--output=/home/%j.out", "--wrap", "srun hostname"}, options...)
	b.await(what+" to be submitted", patience, func() bool {
		out, err := b.head(line...)
		id = strings.TrimSpace(out)
		return err == nil && id != ""
	})
	state := ""
	b.await(what+" to end", patience, func() bool {
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
	if n := len(b.instances(p5)); n > before { // those that ended long ago are not told any more
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
	b.await("the launch to be refused", patience, func() bool {
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
