//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// ncclLimit is what one collective may take: thirty sizes up to 4 GiB.
const ncclLimit = 10 * time.Minute

// sweep is the largest message that all collectives are measured with.
const sweep = 4 << 30

// nccl runs the six programs of nccl-tests on all GPUs. Where they are not installed it is torch's collectives over NCCL.
func (r *run) nccl(ctx context.Context, s *verify.Suite) error {
	if r.Place == "local" {
		s.Results = append(s.Results, verify.Result{Check: "nccl", Verdict: verify.Skip, Why: "a rehearsal: nodes of this machine have no GPUs of their own; the suite collectives runs in its place"})
		return nil
	}
	if err := r.look(ctx); err != nil {
		return err
	}
	if r.Alone != "" {
		none := r.countGPUs()
		if none != nil {
			s.Results = append(s.Results, *none)
			return nil
		}
	}
	if r.alloc.gpus == 0 {
		s.Results = append(s.Results, withoutGPUs(r.alloc.nodes, r.hidden, r.facts))
		return nil
	}
	before, _ := r.countersOfEFA(ctx) // who told nothing is blind
	collective, err := r.ncclBy(ctx)
	if err != nil {
		return err
	}
	said, err := collective.all(ctx, s)
	if ctx.Err() != nil {
		return err
	}
	seen := judge.TransportSeen{On: slurm.Compress(r.alloc.nodes), NCCL: said, EFA: r.fabric()}
	s.Results = append(s.Results, judge.Transport(seen)...)
	if r.Alone != "" {
		return errors.Join(err, r.loop(ctx, s, collective, seen.EFA))
	}
	s.Results = append(s.Results, r.risen(ctx, before, seen)...)
	return errors.Join(err, r.slowOfNCCL(ctx, s, collective))
}

// withoutGPUs is why NCCL does not run on nodes that Slurm counts no GPUs of. Only machines that were seen to have none have none.
func withoutGPUs(nodes []string, hidden string, facts map[string]verify.Facts) verify.Result {
	r := verify.Result{Check: "nccl", On: slurm.Compress(nodes), Verdict: verify.Blind, Why: hidden, Required: true}
	for _, n := range nodes {
		f, ok := facts[n]
		gpus, blind := f.GPU.OnBus.See()
		switch {
		case r.Why != "":
			return r
		case !ok, blind != "":
			r.Why = "Slurm counts no GPUs of these nodes, and nobody could look whether " + n + " has some"
		case gpus > 0:
			r.Why = fmt.Sprintf("Slurm counts no GPUs of these nodes, and %s has %d", n, gpus)
			r.Hint = "see Gres= of the nodes in slurm.conf, and gres.conf"
		}
	}
	if r.Why == "" {
		r.Verdict, r.Required, r.Why = verify.Skip, false, "these nodes have no GPUs, by Slurm's count and on their PCI buses"
	}
	return r
}

// fabric is what EFA is right on all nodes of the job.
func (r *run) fabric() judge.Fabric {
	var all []judge.Fabric
	for _, n := range r.alloc.nodes {
		all = append(all, judge.FabricOf(r.facts[n], r.right(n)))
	}
	return judge.Fewest(all)
}

// countersOfEFA are what the nodes' EFA has counted up to now, by node.
func (r *run) countersOfEFA(ctx context.Context) (map[string]verify.Facts, error) {
	return r.scanned(ctx, stepOptions{args: r.muster("scan", "--parts", "--counters"), limit: scanLimit})
}

// risen judges the counters of each node, by those before.
func (r *run) risen(ctx context.Context, before map[string]verify.Facts, t judge.TransportSeen) []verify.Result {
	after, err := r.countersOfEFA(ctx)
	var all []verify.Result
	for _, n := range r.alloc.nodes {
		seen := judge.CountersSeen{Node: n, Nodes: len(r.alloc.nodes), Used: judge.Used(t.UsesEFA()), EFA: t.EFA}
		all = append(all, counted(seen, before, after, err))
	}
	return all
}

// rose judges the counters of one node, by those before.
func (r *run) rose(ctx context.Context, before map[string]verify.Facts, seen judge.CountersSeen) verify.Result {
	after, err := r.countersOfEFA(ctx)
	return counted(seen, before, after, err)
}

func counted(seen judge.CountersSeen, before, after map[string]verify.Facts, err error) verify.Result {
	seen.Before, seen.After = before[seen.Node].EFA.Counters, after[seen.Node].EFA.Counters
	if _, ok := after[seen.Node]; !ok && err != nil {
		seen.After = verify.Unseen[map[string]int64](err.Error())
	}
	return judge.Counters(seen)
}

// ncclGroup is the job's nodes as what a bandwidth of NCCL is known of.
func (r *run) ncclGroup(operation string) expect.Group {
	g := expect.Group{Nodes: len(r.alloc.nodes), GPUs: r.alloc.gpus, Collective: operation}
	if kind, ok := r.kind(); ok {
		g.InstanceType = kind.Type
	}
	return g
}

// gpuMemory is that of the smallest GPU that was seen, in MiB; 0 if none was.
func (r *run) gpuMemory() int64 {
	var least int64
	for _, f := range r.computeFacts() {
		cards, _ := f.GPU.GPUs.See()
		for _, c := range cards {
			if mib, blind := c.MemoryMiB.See(); blind == "" && (least == 0 || mib < least) {
				least = mib
			}
		}
	}
	return least
}

// ncclMeans is a way to measure collectives over NCCL.
type ncclMeans interface {
	// all measures the six collectives, and is what NCCL said of itself.
	all(ctx context.Context, s *verify.Suite) (meter.NCCL, error)
	// pair is the bus bandwidth of all_reduce between two nodes.
	pair(ctx context.Context, a, b string) (gbps float64, err error)
	// loop is that of all_reduce between the GPUs of this machine alone, over its network.
	loop(ctx context.Context) (gbps float64, err error)
}

var (
	_ ncclMeans = ncclPrograms{}
	_ ncclMeans = ncclTorch{}
)

// ncclBy is nccl-tests where the first node, or the image, has it, and else torch.
func (r *run) ncclBy(ctx context.Context) (ncclMeans, error) {
	found := ""
	o := stepOptions{nodes: r.alloc.nodes[:1], args: []string{"sh", "-c", load.FindNCCLTests}, limit: scanLimit, image: r.Image}
	err := r.lines(ctx, o, func(line string) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") && found == "" {
			found = line
		}
	})
	if err != nil || found == "" {
		return ncclTorch{r}, err
	}
	return ncclPrograms{run: r, found: found}, nil
}

// evidence is how many lines of a program that failed are shown.
const evidence = 8

func lastLines(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[max(0, len(lines)-evidence):]
}
