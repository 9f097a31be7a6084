//go:build linux

package suite

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// ncclPrograms are nccl-tests; found is the path of the one that measures all_reduce.
type ncclPrograms struct {
	*run
	found string
}

// all measures with each program. What NCCL says of itself is heard of a short run of the first: of a long one with many ranks its lines
// would be more than the table's.
func (p ncclPrograms) all(ctx context.Context, s *verify.Suite) (meter.NCCL, error) {
	first := load.Operations()[0]
	p.Tell("NCCL says which network it uses")
	heard, err := p.hear(ctx, nil, load.NCCLTest{Program: p.of(first), Max: "32M", Iterations: 5}, "INFO")
	said := meter.ReadNCCL([]byte(heard.all()))
	if ctx.Err() != nil {
		return said, err
	}
	if c := meter.ReadCollective([]byte(heard.table.String())); err != nil && !c.Whole {
		s.Results = append(s.Results, p.broken(first, err, heard))
		return said, nil
	}
	for _, operation := range load.Operations() {
		if err := p.one(ctx, s, operation); err != nil {
			return said, err
		}
	}
	return said, nil
}

// one measures a collective, with larger messages than the others' where only these say whether it is as fast as it should be.
func (p ncclPrograms) one(ctx context.Context, s *verify.Suite, operation string) error {
	p.Tell(operation + " of nccl-tests")
	heard, err := p.hear(ctx, nil, load.NCCLTest{Program: p.of(operation), Iterations: 20}, "WARN")
	if ctx.Err() != nil {
		return err
	}
	c := meter.ReadCollective([]byte(heard.table.String()))
	c.Name = operation
	right := expect.BusBandwidth(p.ncclGroup(operation))
	if size := right.Beyond(sweep, p.gpuMemory()); size > 0 && operation == load.Operations()[0] && c.Whole {
		large := strconv.FormatInt(size, 10)
		more, _ := p.hear(ctx, nil, load.NCCLTest{Program: p.of(operation), Min: large, Max: large, Iterations: 20}, "WARN") // without it, smaller ones are judged
		c.Rows = append(c.Rows, meter.ReadCollective([]byte(more.table.String())).Rows...)
	}
	on := slurm.Compress(p.alloc.nodes)
	results, series := judge.Collective(p.besideEarlier(judge.CollectiveSeen{Collective: c, On: on, Right: right, Want: len(p.alloc.nodes) * p.alloc.gpus}, s.Name))
	s.Results, s.Series = append(s.Results, results...), append(s.Series, series...)
	if err != nil && !c.Whole {
		s.Results = append(s.Results, p.broken(operation, err, heard))
	}
	return nil
}

// pairBytes is the message that pairs of nodes are compared with, and pairLimit what a pair may take, start and meeting included.
const (
	pairBytes = "1G"
	pairLimit = 3 * time.Minute
)

func (p ncclPrograms) loop(ctx context.Context) (float64, error) {
	heard, err := p.hear(ctx, nil, load.NCCLTest{Program: p.of(load.Operations()[0]), Min: loopBytes, Max: loopBytes, Iterations: 20}, "WARN", loopEnv()...)
	return judge.Peak(meter.ReadCollective([]byte(heard.table.String()))), err
}

func (p ncclPrograms) pair(ctx context.Context, a, b string) (float64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, pairLimit, errors.New("it takes longer than "+pairLimit.String()))
	defer cancel()
	heard, err := p.hear(ctx, []string{a, b}, load.NCCLTest{Program: p.of(load.Operations()[0]), Min: pairBytes, Max: pairBytes, Iterations: 20}, "WARN")
	return judge.Peak(meter.ReadCollective([]byte(heard.table.String()))), err
}

// hear runs a program on some nodes, all if nil. Its lines until an error count.
func (p ncclPrograms) hear(ctx context.Context, nodes []string, test load.NCCLTest, level string, env ...string) (*spoken, error) {
	heard := &spoken{}
	o := stepOptions{nodes: nodes, tasks: p.alloc.gpus, gpus: p.alloc.gpus, mpi: "pmix", image: p.Image, limit: ncclLimit, env: append(env, "NCCL_DEBUG="+level)}
	if p.Alone != "" { // nobody starts MPI: one process has all GPUs
		o.tasks, test.GPUs = 1, p.alloc.gpus
	}
	o.args = test.Line()
	if libraries := load.NCCLTestLibraries(p.found); libraries != "" && p.Image == "" {
		o.env = append(o.env, strings.TrimSuffix("LD_LIBRARY_PATH="+libraries+":"+os.Getenv("LD_LIBRARY_PATH"), ":"))
	}
	err := p.lines(ctx, o, heard.take)
	return heard, err
}

func (p ncclPrograms) of(operation string) string { return load.NCCLTestOf(p.found, operation) }

func (p ncclPrograms) broken(operation string, err error, heard *spoken) verify.Result {
	return verify.Result{Check: "nccl-tests", On: slurm.Compress(p.alloc.nodes), Verdict: verify.Fail, Found: operation + "_perf ended with an error", Why: err.Error(),
		Evidence: lastLines(heard.all()), Required: true}
}

// spoken is what programs of nccl-tests wrote: their tables, which are whole whatever NCCL writes between, and NCCL's own lines, of
// which those that say what it chose are kept before those of its channels.
type spoken struct {
	table, chosen, rest strings.Builder
}

// Bounds of what is kept of each.
const (
	mostTable  = 8 << 20
	mostChosen = 6 << 20
	mostRest   = 1 << 20
)

func (s *spoken) take(line string) {
	to, most := &s.table, mostTable
	if strings.Contains(line, " NCCL ") || strings.HasPrefix(line, "NCCL ") {
		to, most = &s.rest, mostRest
		for _, word := range []string{"NET/OFI", "Using network", "NCCL version", "NCCL WARN"} {
			if strings.Contains(line, word) {
				to, most = &s.chosen, mostChosen
			}
		}
	}
	if to.Len()+len(line) < most {
		to.WriteString(line + "\n")
	}
}

func (s *spoken) all() string { return s.table.String() + s.rest.String() + s.chosen.String() }
