//go:build linux

package suite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
)

// holdAlone takes this machine as the only node, without Slurm.
func (r *run) holdAlone(ctx context.Context) (err error) {
	deadline, _ := ctx.Deadline()
	q := request{alone: true, limit: time.Until(deadline)}
	if r.alloc, err = allocate(ctx, q, func(int, time.Duration) {}); err != nil {
		return fmt.Errorf("hold this machine: %w", err)
	}
	r.alloc.nodes, r.report.Nodes = []string{r.Alone}, []string{r.Alone}
	r.program, r.types = r.Muster, map[string]string{}
	if r.Type != "" {
		r.types[r.Alone] = r.Type
	}
	r.identifyTypes()
	return nil
}

// towards is an address of the network that ranks meet over: that of the machine itself where it is alone, which knows no name of its own
// then. Empty is the network of the nodes' names.
func (r *run) towards() string {
	if r.Alone != "" {
		return "127.0.0.1"
	}
	return ""
}

// countGPUs has the machine's own GPUs count, as no Slurm gives any. It says why there are none for NCCL, nil if there are.
func (r *run) countGPUs() *verify.Result {
	f, told := r.facts[r.Alone]
	bus, dark := f.GPU.OnBus.See()
	cards, blind := f.GPU.GPUs.See()
	none := verify.Result{Check: "nccl", On: r.Alone, Verdict: verify.Blind, Required: true}
	switch {
	case !told:
		none.Why = "nobody could look at the GPUs: " + r.blind[r.Alone]
	case dark == "" && bus == 0:
		none.Verdict, none.Required, none.Why = verify.Skip, false, "this machine has no GPUs on its PCI bus"
	case blind != "":
		none.Why = "nobody could count the GPUs: " + blind
	case len(cards) == 0:
		none.Why = "nvidia-smi lists no GPU"
	default:
		r.alloc.gpus = len(cards)
		return nil
	}
	return &none
}

// ownDisks are the machine's own, where it is alone: what several share is loaded by all of them, and nobody could say whose fault it is.
func (r *run) ownDisks(ctx context.Context) ([]expect.FileSystem, string, error) {
	if err := r.look(ctx); err != nil {
		return nil, "", err
	}
	dir := cmp.Or(r.Disk, expect.ScratchDir(r.subject(r.Alone)))
	mounts, blind := r.facts[r.Alone].Mounts.See()
	if blind != "" {
		return nil, "", fmt.Errorf("look for the machine's own disks: %s", blind)
	}
	for _, m := range mounts {
		switch {
		case m.Dir != dir:
		case strings.Contains(networked, " "+m.Type+" "):
			return nil, fmt.Sprintf("%s is a file system of the network (%s), and no disk of this machine's", dir, m.Type), nil
		default:
			return r.ownDisk(dir), "", nil
		}
	}
	if r.Disk != "" { // below a mount
		return r.ownDisk(dir), "", nil
	}
	return nil, fmt.Sprintf("nothing is mounted on %s, where disks of the machine's own are", dir), nil
}

func (r *run) ownDisk(dir string) []expect.FileSystem {
	why := "nobody has published what a machine's own disks come to as one"
	if r.Place == "local" {
		why = "a rehearsal: this is a directory of this machine's disk"
	}
	return []expect.FileSystem{expect.UnratedAt(dir, why)}
}

// seenAfterLoad looks at the GPUs once more, when load was on them: what failed now and did not before is a result. Errors of memory and
// links that are lost are seen only then.
func (r *run) seenAfterLoad(ctx context.Context) {
	i := slices.IndexFunc(r.report.Suites, func(s verify.Suite) bool { return s.Name == verify.GPU })
	loaded := r.Diagnosis > 1 || slices.ContainsFunc(r.report.Suites, func(s verify.Suite) bool { return s.Name == verify.NCCL })
	if i < 0 || !loaded || r.alloc.gpus == 0 || ctx.Err() != nil {
		return
	}
	s := &r.report.Suites[i]
	r.asked, r.Diagnosis = false, 0
	err := r.look(ctx)
	f, told := r.facts[r.Alone]
	switch {
	case err == nil && told:
		s.Results = append(s.Results, worseOf(s.Results, judge.GPU(r.Alone, f, r.right(r.Alone)))...)
	default:
		s.Results = append(s.Results, verify.Result{Check: "gpu-after", On: r.Alone, Verdict: verify.Blind, Why: "nobody could look at the GPUs after the load: " + r.blind[r.Alone]})
	}
	s.Verdict = verify.Sum(s.Results)
}

// worseOf are the results that fail and did not before, and that last.
func worseOf(before, after []verify.Result) []verify.Result {
	var all []verify.Result
	for _, r := range after {
		passing := r.Check == "gpu-throttle" || r.Check == "gpu-temperature" // of a GPU that is still warm
		known := passing || slices.ContainsFunc(before, func(b verify.Result) bool { return b.Check == r.Check && b.On == r.On && b.Verdict == verify.Fail })
		if r.Verdict == verify.Fail && !known {
			r.Why = strings.TrimPrefix(r.Why+"; it was not so before the load", "; ")
			all = append(all, r)
		}
	}
	return all
}

// loopBytes is the message that GPUs of one machine send each other over its network.
const loopBytes = "1G"

// loop has the GPUs of this machine alone talk over its network: all of its EFA devices are at work then, which one node does not see
// otherwise. NCCL takes the network where the ways through the machine are off:
// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html (NCCL_P2P_DISABLE, NCCL_SHM_DISABLE), and the plugin for EFA keeps
// it from libfabric's shared memory: https://github.com/aws/aws-ofi-nccl/blob/master/src/nccl_ofi_ofiutils.cpp
func (r *run) loop(ctx context.Context, s *verify.Suite, by ncclMeans, efa judge.Fabric) error {
	if r.Alone == "" || r.alloc.gpus < 2 || efa.Devices == 0 {
		return nil
	}
	r.Tell("all_reduce over this machine's own network")
	before, _ := r.countersOfEFA(ctx) // who told nothing is blind
	gbps, err := by.loop(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	result := verify.Result{Check: "nccl-loop", On: r.Alone, Verdict: verify.Warn, Want: "GPUs reach each other over EFA", Source: "NCCL_P2P_DISABLE and NCCL_SHM_DISABLE of NCCL"}
	switch {
	case gbps > 0:
		result.Verdict, result.Found = verify.Pass, fmt.Sprintf("bus bandwidth %.4g GB/s with messages of %s over %s", gbps, loopBytes, count.Of(efa.Devices, "EFA device"))
		result.Why, result.Source = "measured, and not judged: nobody has published it", "" // an earlier report may judge it
		result.Value = &verify.Value{Number: gbps, Unit: "GB/s"}
	case err != nil:
		result.Found, result.Why, result.Hint = "they do not", err.Error(), "see the suite efa, and NCCL's lines with NCCL_DEBUG=INFO"
	default:
		result.Verdict, result.Why = verify.Blind, "nothing was measured"
	}
	s.Results = append(s.Results, result)
	if gbps > 0 {
		rose := r.rose(ctx, before, judge.CountersSeen{Node: r.Alone, Nodes: 2, Used: true, EFA: efa})
		if rose.Verdict == verify.Fail { // older plugins leave the way to libfabric
			rose.Verdict, rose.Why = verify.Warn, "the GPUs reached each other by something else than EFA's devices, such as libfabric's shared memory"
		}
		s.Results = append(s.Results, rose)
	}
	return nil
}

// loopEnv leaves NCCL nothing but the network.
func loopEnv() []string {
	return []string{"NCCL_P2P_DISABLE=1", "NCCL_SHM_DISABLE=1", "NCCL_NVLS_ENABLE=0"}
}

// imageChecks are those of suites under load that an image has wrong, and no machine.
func imageChecks() []string { return []string{"nccl-network", "nccl-nics", "storage-program"} }

// Unfit are the results by which a machine that was looked at alone should take no job: what its own hardware is, or did under load. What
// an image has wrong, such as a driver, a new machine would have, too.
func Unfit(report verify.Report) []verify.Result {
	var all []verify.Result
	for _, s := range report.Suites {
		underLoad := s.Name == verify.NCCL || s.Name == verify.Collectives || s.Name == verify.Storage
		for _, r := range s.Results {
			if report.Error != "" || strings.Contains(s.Why, timeIsOver) {
				if r.Check == "ranks" || r.Check == "nccl-tests" {
					continue // what was ended does not say whether it broke
				}
			}
			if r.Verdict == verify.Fail && (own(s.Name, r.Check) || underLoad && !slices.Contains(imageChecks(), r.Check)) {
				all = append(all, r)
			}
		}
	}
	return all
}
