//go:build linux

package suite

import (
	"context"
	"path/filepath"
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

// nccl runs the six programs of nccl-tests on all GPUs. Where they are not installed it is torch's collectives over NCCL.
func (r *run) nccl(ctx context.Context, s *verify.Suite) error {
	gpus := r.alloc.gpus
	switch {
	case r.Place == "local":
		s.Results = append(s.Results, verify.Result{Check: "nccl", Verdict: verify.Skip, Why: "a rehearsal: nodes of this machine have no GPUs of their own; the suite collectives runs in its place"})
		return nil
	case gpus == 0:
		s.Results = append(s.Results, verify.Result{Check: "nccl", Verdict: verify.Skip, Why: "these nodes have no GPUs, by Slurm's count"})
		return nil
	}
	program, err := r.ncclTests(ctx)
	if err != nil {
		return err
	}
	if program == "" {
		o := load.CollectiveOptions{Backend: "nccl", MaxBytes: 4 << 30, Factor: 2, Seconds: 240, Ranks: len(r.alloc.nodes) * gpus}
		return r.measured(ctx, s, o, stepOptions{args: r.muster("collectives"), input: true, tasks: gpus, gpus: gpus, image: r.Image, limit: ncclLimit, env: []string{"NCCL_DEBUG=WARN"}})
	}
	for _, operation := range load.Operations() {
		if err := r.ncclTest(ctx, s, program, operation); err != nil {
			return err
		}
	}
	return nil
}

// ncclTests is the folder of nccl-tests on the nodes or in the image, empty if there is none.
func (r *run) ncclTests(ctx context.Context) (string, error) {
	found := ""
	o := stepOptions{nodes: r.alloc.nodes[:1], args: []string{"sh", "-c", `command -v all_reduce_perf || ls "${NCCL_TESTS_HOME:-/opt/nccl-tests}/build/all_reduce_perf" 2>/dev/null || true`}, limit: scanLimit, image: r.Image}
	err := r.lines(ctx, o, func(line string) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") && found == "" {
			found = filepath.Dir(line)
		}
	})
	return found, err
}

// ncclTest runs one collective.
func (r *run) ncclTest(ctx context.Context, s *verify.Suite, folder, operation string) error {
	r.Tell(operation + " of nccl-tests")
	var text strings.Builder
	line := load.NCCLTest{Program: filepath.Join(folder, operation+"_perf"), Iterations: 20}.Line()
	o := stepOptions{args: line, tasks: r.alloc.gpus, gpus: r.alloc.gpus, mpi: "pmix", image: r.Image, limit: ncclLimit, env: []string{"NCCL_DEBUG=INFO"}}
	err := r.lines(ctx, o, func(line string) {
		if text.Len() < mostLine*16 {
			text.WriteString(line + "\n")
		}
	})
	if ctx.Err() != nil {
		return err
	}
	on := slurm.Compress(r.alloc.nodes)
	c := meter.ReadCollective([]byte(text.String()))
	if c.Name == "" {
		c.Name = operation
	}
	group := expect.Group{Nodes: len(r.alloc.nodes), GPUs: r.alloc.gpus, Collective: operation}
	kind, known := r.kind()
	if known {
		group.InstanceType = kind.Type
	}
	results, series := judge.Collective(judge.CollectiveSeen{Collective: c, On: on, Right: expect.BusBandwidth(group)})
	s.Results, s.Series = append(s.Results, results...), append(s.Series, series...)
	if operation == load.Operations()[0] {
		s.Results = append(s.Results, judge.Transport(on, meter.ReadNCCL([]byte(text.String())), kind.EFA)...)
	}
	if err != nil && !c.Whole {
		s.Results = append(s.Results, verify.Result{Check: "nccl-tests", On: on, Verdict: verify.Fail, Found: operation + "_perf ended with an error", Why: err.Error(),
			Evidence: lastLines(text.String()), Required: true})
	}
	return nil
}

// evidence is how many lines of a program that failed are shown.
const evidence = 8

func lastLines(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[max(0, len(lines)-evidence):]
}
