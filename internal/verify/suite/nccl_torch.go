//go:build linux

package suite

import (
	"context"
	"errors"
	"strings"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// ncclTorch are PyTorch's collectives over NCCL, where there is no nccl-tests.
type ncclTorch struct{ *run }

// What torch's collectives take: seconds for all of them, for a first short one in which NCCL says what it uses, and for a pair of nodes.
const (
	torchSeconds      = 240
	torchShortSeconds = 10
	torchPairBytes    = 1 << 30
)

func (t ncclTorch) all(ctx context.Context, s *verify.Suite) (meter.NCCL, error) {
	heard := &spoken{}
	short := t.options(nil, 32<<20, torchShortSeconds, load.Operations()[:1])
	short.Else = heard.take
	told, err := t.measure(ctx, nil, short, "INFO")
	said := meter.ReadNCCL([]byte(heard.all()))
	if t.without(s, told) || err != nil {
		return said, err
	}
	return said, t.measured(ctx, s, t.options(nil, t.most(), torchSeconds, nil), t.step(nil, "WARN"))
}

func (t ncclTorch) loop(ctx context.Context) (float64, error) {
	o := t.options(nil, min(torchPairBytes, t.most()), torchShortSeconds, load.Operations()[:1])
	return peakOf(t.measure(ctx, nil, o, "WARN", loopEnv()...))
}

// peakOf is the peak of what ranks measured, with what broke.
func peakOf(told load.Collectives, err error) (float64, error) {
	for _, why := range told.Broken {
		err = errors.Join(err, errors.New(why))
	}
	if len(told.Measured) == 0 {
		return 0, err
	}
	return judge.Peak(told.Measured[0]), err
}

func (t ncclTorch) pair(ctx context.Context, a, b string) (float64, error) {
	nodes := []string{a, b}
	ctx, cancel := context.WithTimeoutCause(ctx, pairLimit, errors.New("it takes longer than "+pairLimit.String()))
	defer cancel()
	return peakOf(t.measure(ctx, nodes, t.options(nodes, min(torchPairBytes, t.most()), torchShortSeconds, load.Operations()[:1]), "WARN"))
}

// most is the largest message: torch's buffers, what is sent, what comes, what should come and what is compared, are up to six of it.
func (t ncclTorch) most() int64 {
	bytes, memory := int64(sweep), t.gpuMemory()<<20
	for memory > 0 && bytes > 8 && 6*bytes > memory {
		bytes /= 2
	}
	return bytes
}

func (t ncclTorch) options(nodes []string, bytes int64, seconds float64, operations []string) load.CollectiveOptions {
	if nodes == nil {
		nodes = t.alloc.nodes
	}
	return load.CollectiveOptions{Backend: "nccl", Towards: t.towards(), MaxBytes: bytes, Factor: 2, Seconds: seconds, Ranks: len(nodes) * t.alloc.gpus, Operations: operations}
}

func (t ncclTorch) step(nodes []string, level string) stepOptions {
	o := stepOptions{nodes: nodes, args: t.muster("collectives"), input: true, tasks: t.alloc.gpus, gpus: t.alloc.gpus, image: t.Image, limit: ncclLimit, env: []string{"NCCL_DEBUG=" + level}}
	return o
}

// measure is load's, in a step.
func (t ncclTorch) measure(ctx context.Context, nodes []string, o load.CollectiveOptions, level string, env ...string) (load.Collectives, error) {
	step := t.withProgram(t.step(nodes, level))
	step.env = append(step.env, env...)
	running, err := t.begin(ctx, step)
	if err != nil {
		return load.Collectives{}, err
	}
	o.In, o.Out = running.out, running.in
	told, err := load.MeasureCollectives(ctx, o)
	return told, errors.Join(err, running.end())
}

// withProgram has an image's step see muster.
func (r *run) withProgram(o stepOptions) stepOptions {
	if o.image != "" {
		o.mounts = []string{strings.Join([]string{r.program, r.program, "ro"}, ":")}
	}
	return o
}
