package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

// followRun follows a job that was just submitted, to its end.
func (a *app) followRun(ctx context.Context, s slurm.Client, id int) error {
	say := a.sayOf(id)
	first, err := s.Job(ctx, id)
	if err != nil {
		say("is submitted")
	} else {
		say(fmt.Sprintf("is submitted: %s, %s of %s", first.Name, count.Of(first.NumNodes, "node"), first.Partition))
	}
	if err == nil && first.ArrayJobID != 0 {
		fmt.Fprintf(a.err, "  job %d is an array; %s shows its tasks, and %s follows one\n",
			id, a.command("job list"), a.command("job logs -f %d_TASK", id))
		return a.submitted(submittedJob{ID: id})
	}
	out := a.out
	if a.output == "json" {
		out = a.err
	}
	view, err := a.follow(ctx, s, id, out, a.err, &job.Unheard{})
	if err != nil {
		return err
	}
	ending := job.EndingOf(view)
	answer := a.jobAnswer(ctx, s, view)
	if !ending.OK {
		shown := answer
		shown.addKept(ctx)
		shown.addCause(ctx, s, view)
		a.explain(id, ending, shown)
	}
	if a.output == "json" {
		if err := a.writeJSON(answer); err != nil {
			return err
		}
	}
	if !ending.OK {
		return fault.Exit(fault.ExitProblem)
	}
	return nil
}

// explain says how a job ended that did not complete, if that was not said yet,
// why, where its logs say it, and what to do.
func (a *app) explain(id int, e job.Ending, shown jobAnswer) {
	if a.quiet {
		fmt.Fprintf(a.err, "muster: job %d %s\n", id, page.Printable(e.Text))
	}
	if shown.cause != "" {
		fmt.Fprintf(a.err, "  because it %s\n", page.Printable(shown.cause))
	}
	if hint := cmp.Or(shown.hint, e.Hint); hint != "" {
		fmt.Fprintf(a.err, "  hint: %s\n", page.Printable(hint))
	}
}

// follow follows a job. Where the user stops that, it says how to go on. unheard, if there is one, hears what the job writes.
func (a *app) follow(ctx context.Context, s slurm.Client, id int, out, errOut io.Writer, unheard *job.Unheard) (job.View, error) {
	f := job.Follower{Slurm: s, Say: a.sayOf(id), Fate: fates(s).of, BurnIn: burnInsHere()}
	var guards []*page.Guard
	for _, one := range []struct {
		to, from *io.Writer
		name     string
	}{{&f.Out, &out, "out"}, {&f.Err, &errOut, "err"}} {
		if *one.from != nil {
			g := page.Guarded(*one.from)
			guards, *one.to = append(guards, g), g
			if unheard != nil {
				*one.to = hearing{g, unheard, one.name}
			}
		}
	}
	if unheard != nil {
		f.Also = func(slurm.Job) error {
			a.tellUnread(id, unheard.Tell(time.Now(), func() string { return patternOf(ctx, s, id) }))
			return nil
		}
	}
	view, err := a.followBy(ctx, f, id)
	for _, g := range guards {
		if unwritten := g.Flush(); unwritten != nil {
			err = errors.Join(err, unwritten)
		}
	}
	return view, err
}

// followBy is follow by a follower that is made already.
func (a *app) followBy(ctx context.Context, f job.Follower, id int) (job.View, error) {
	view, err := f.Follow(ctx, id)
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintf(a.err, "\nno longer following job %d, which goes on\n  %s follows it again\n  %s ends it\n",
			id, a.command("job logs -f %d", id), a.command("job cancel %d", id))
		return view, fault.Exit(fault.ExitInterrupted)
	case errors.Is(err, slurm.ErrNoJob):
		return view, noJob(id)
	}
	return view, err
}

// sayOf tells the user what happens to a job.
func (a *app) sayOf(id int) func(line string) {
	return func(line string) {
		if !a.quiet {
			fmt.Fprintf(a.err, "[%s] job %d %s\n", time.Now().Format(time.TimeOnly), id, page.Printable(line))
		}
	}
}
