//go:build linux

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// fleet has the commands of people, and those that Slurm's programs run on the head node.
func (a *app) fleet() *cobra.Command {
	c := a.fleetVerbs()
	for _, verb := range []string{"resume", "suspend"} {
		c.AddCommand(&cobra.Command{
			Use:    verb + " HOSTLIST",
			Short:  "Hand nodes over to the controller to " + verb + ", as Slurm's programs",
			Args:   cobra.ExactArgs(1),
			Hidden: true,
			RunE:   func(c *cobra.Command, args []string) error { return a.handOver(c.Context(), verb, args[0]) },
		})
	}
	c.AddCommand(&cobra.Command{
		Use:    "recover STATEDIR",
		Short:  "Have the next slurmctld give away no job's ID again (before it is started, after the last one died)",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			// A slurmctld that may give an ID away again is better than none.
			if next, err := slurm.SkipLostJobIDs(args[0]); err != nil {
				fmt.Fprintln(a.err, "muster: jobs may get IDs that others had:", err)
			} else if next > 0 {
				fmt.Fprintln(a.err, "muster: the last slurmctld did not end in order; the next job's ID is", next)
			}
			return nil
		},
	})
	c.AddCommand(&cobra.Command{
		Use:    "await [HOSTLIST]",
		Short:  "Wait until nodes are up (Slurm's PrologSlurmctld; default: the job's)",
		Args:   cobra.MaximumNArgs(1),
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			nodes := os.Getenv("SLURM_JOB_NODELIST")
			if len(args) > 0 {
				nodes = args[0]
			}
			ctx, cancel := context.WithTimeout(c.Context(), awaitWait)
			defer cancel()
			// An error does not hold the job back: slurmctld looks itself.
			if err := await(ctx, nodes); err != nil {
				fmt.Fprintln(a.err, "muster:", err)
			}
			return nil
		},
	})
	return c
}

// awaitWait is longer than any node may take to come up.
const awaitWait = 30 * time.Minute

// A controller that ended is back within moments; askAgain is the pause between
// two attempts to reach it, and awayAtMost when to give up.
const (
	askAgain   = 200 * time.Millisecond
	awayAtMost = 30 * time.Second
)

// await waits for nodes, also through the death of the controller that it asks.
func await(ctx context.Context, nodes string) error {
	for reached := time.Now(); ; {
		asked := time.Now()
		err := handingOver("await", nodes, client.In(services.RunDir).Await(ctx, nodes))
		if !client.Unanswered(err) || ctx.Err() != nil {
			return err
		}
		if time.Since(asked) > askAgain {
			reached = time.Now() // it did answer for a while
		}
		if time.Since(reached) > awayAtMost {
			return err
		}
		if err := pause.For(ctx, askAgain); err != nil {
			return err
		}
	}
}

// handOver tells the controller what Slurm wants. If that fails, nothing is
// lost: the controller asks Slurm itself.
func (a *app) handOver(ctx context.Context, verb, nodes string) error {
	ctx, cancel := context.WithTimeout(ctx, handOverWait)
	defer cancel()
	request := client.Request{Nodes: nodes}
	if path := os.Getenv("SLURM_RESUME_FILE"); path != "" && verb == "resume" {
		jobs, err := resumeJobs(path)
		if err != nil {
			fmt.Fprintln(a.err, "muster: the controller is told the nodes alone:", err)
		}
		request.Jobs = jobs
	}
	control := client.In(services.RunDir)
	if verb == "suspend" {
		return handingOver(verb, nodes, control.Suspend(ctx, request))
	}
	return handingOver(verb, nodes, control.Resume(ctx, request))
}

// handOverWait is how long a controller may take to accept something.
const handOverWait = 5 * time.Second

// resumeFileLimit is how long a resume file may be, in bytes.
const resumeFileLimit = 8 << 20

// resumeJobs are the jobs that wait for nodes, as slurmctld wrote them into a file
// for its ResumeProgram.
func resumeJobs(path string) ([]client.RequestJob, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, resumeFileLimit))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	waiting, err := slurm.ParseResumeFile(data)
	if err != nil {
		return nil, err
	}
	var jobs []client.RequestJob
	for _, j := range waiting {
		jobs = append(jobs, client.RequestJob(j))
	}
	return jobs, nil
}

// handingOver adds to an error which order was to be handed over.
func handingOver(verb, nodes string, err error) error {
	if err != nil {
		return fmt.Errorf("hand %s of %s to the controller: %w", verb, nodes, err)
	}
	return nil
}
