package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/cluster"
	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/head"
)

func (a *app) fleet() *cobra.Command {
	c := &cobra.Command{
		Use:    "fleet",
		Short:  "Used by Slurm: its ResumeProgram and SuspendProgram",
		Hidden: true,
	}
	for _, verb := range []string{"resume", "suspend"} {
		c.AddCommand(&cobra.Command{
			Use:   verb + " HOSTLIST",
			Short: "Hand nodes over to the controller to " + verb,
			Args:  cobra.ExactArgs(1),
			RunE:  func(c *cobra.Command, args []string) error { return handOver(c.Context(), verb, args[0]) },
		})
	}
	c.AddCommand(&cobra.Command{
		Use:   "await [HOSTLIST]",
		Short: "Wait until nodes are up (Slurm's PrologSlurmctld; default: the job's)",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			nodes := os.Getenv("SLURM_JOB_NODELIST")
			if len(args) > 0 {
				nodes = args[0]
			}
			ctx, cancel := context.WithTimeout(c.Context(), awaitWait)
			defer cancel()
			// A job is not held back because nobody could tell: slurmctld looks itself.
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
		err := tellController(ctx, "await", nodes)
		if !errors.As(err, new(*url.Error)) || ctx.Err() != nil {
			return err
		}
		if time.Since(asked) > askAgain {
			reached = time.Now() // it did answer for a while
		}
		if time.Since(reached) > awayAtMost {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(askAgain):
		}
	}
}

const handOverWait = 5 * time.Second

// handOver tells the controller what Slurm wants. If that fails, nothing is
// lost: the controller asks Slurm itself.
func handOver(ctx context.Context, verb, nodes string) error {
	ctx, cancel := context.WithTimeout(ctx, handOverWait)
	defer cancel()
	return tellController(ctx, verb, nodes)
}

func tellController(ctx context.Context, verb, nodes string) error {
	body, err := json.Marshal(controller.Request{Nodes: nodes})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://controller/v1/"+verb, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := cluster.SocketClient(head.RunDir, "controller.sock").Do(req)
	if err != nil {
		return fmt.Errorf("hand %s of %s to the controller: %w", verb, nodes, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("hand %s of %s to the controller: %s", verb, nodes, resp.Status)
	}
	return nil
}
