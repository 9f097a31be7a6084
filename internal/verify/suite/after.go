//go:build linux

package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
)

// idleWait is how long nodes may take to be free again: Slurm's epilogs run first.
const idleWait = 45 * time.Second

// after gives the nodes back, and has suite basic say whether they are free for the next job.
func (r *run) after(ctx context.Context) {
	if r.alloc == nil {
		return
	}
	r.give(ctx)
	i := slices.IndexFunc(r.report.Suites, func(s verify.Suite) bool { return s.Name == verify.Basic })
	if i < 0 || len(r.report.Suites[i].Results) == 0 { // it was not reached
		return
	}
	s := &r.report.Suites[i]
	s.Results = append(s.Results, r.free)
	s.Verdict = verify.Sum(s.Results)
}

// give gives the nodes back and sees that they are free, once.
func (r *run) give(ctx context.Context) {
	if !r.left {
		r.leave()
		r.free = r.given(ctx)
	}
}

// given waits until no node is ours any more.
func (r *run) given(ctx context.Context) verify.Result {
	ctx, cancel := context.WithTimeoutCause(ctx, idleWait, fmt.Errorf("not within %s", idleWait))
	defer cancel()
	began := time.Now()
	result := verify.Result{Check: "nodes-free-again", On: slurm.Compress(r.alloc.nodes), Want: "free after the job"}
	for {
		busy, gone, err := r.busy(ctx)
		switch {
		case err == nil && len(gone) > 0:
			result.Verdict, result.Found = verify.Fail, strings.Join(gone, "; ")
			result.Why, result.Hint = "no job gets what left service with the job's end", "scontrol show node, and slurmd's log on the node, say why"
			return result
		case err == nil && len(busy) == 0:
			result.Verdict, result.Found = verify.Pass, fmt.Sprintf("free after %.1f s", time.Since(began).Seconds())
			return result
		case ctx.Err() != nil && err != nil:
			result.Verdict, result.Why = verify.Blind, err.Error()
			return result
		case ctx.Err() != nil:
			result.Verdict, result.Found = verify.Fail, slurm.Compress(busy)+" not free"
			result.Why, result.Hint = "what the job left keeps them", "squeue --states=all and slurmd's log on the node say why"
			return result
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// busy are the nodes that our job still holds, and gone those that have left service since it had them.
func (r *run) busy(ctx context.Context) (busy, gone []string, err error) {
	j, err := r.Slurm.Job(ctx, r.alloc.job)
	if err != nil && !strings.Contains(err.Error(), slurm.ErrNoJob.Error()) {
		return nil, nil, err
	}
	if err == nil && (!j.Ended() || j.State == "COMPLETING") {
		return r.alloc.nodes, nil, nil
	}
	nodes, err := r.Slurm.Nodes(ctx)
	if err != nil {
		return nil, nil, err
	}
	busy, gone = freed(r.alloc.nodes, nodes)
	return busy, gone, nil
}

// freed are, of the nodes of a job that has ended, those that still complete, and those that no job gets, with why. A node that
// has others' jobs by now is free of ours.
func freed(ours []string, all []slurm.Node) (busy, gone []string) {
	for _, name := range ours {
		i := slices.IndexFunc(all, func(n slurm.Node) bool { return n.Name == name })
		switch {
		case i < 0:
			gone = append(gone, name+" is not Slurm's any more")
		case out(all[i]):
			gone = append(gone, fmt.Sprintf("%s is %s: %s", name, all[i].State, said(all[i].Reason)))
		case all[i].State.Flags&slurm.FlagCompleting != 0:
			busy = append(busy, name)
		}
	}
	return busy, gone
}
