//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/slurm"
)

// agentKernel is a node's epilog on AWS: a node whose kernel says that a GPU failed drains itself. What could not be looked
// at is noted, and is no failure.
func (a *app) agentKernel() *cobra.Command {
	return &cobra.Command{
		Use:   "kernel NODE",
		Short: "Drains this node if its kernel says that a GPU failed",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			// Slurm's epilogs have no PATH.
			if err := os.Setenv("PATH", boot.SystemPath); err != nil {
				return err
			}
			var m boot.Machine
			missed, err := askKernel(c.Context(), m, slurm.Client{Runner: slurm.Exec{}}, args[0])
			if err == nil && missed == "" {
				return nil
			}
			if err != nil {
				missed = err.Error()
			}
			return errors.Join(err, m.NoteHealth(boot.Verdict{Blind: missed}, os.Getenv("SLURM_JOB_ID"), time.Now()))
		},
	}
}

// drainWait bounds Slurm's answers: the job that ended waits for them.
const drainWait = 20 * time.Second

// askKernel looks at what the kernel has said since the last time, and drains the node if that condemns it. Only what was
// dealt with is not looked at again. missed is what could not be looked at.
func askKernel(ctx context.Context, m boot.Machine, s slurm.Client, node string) (missed string, err error) {
	news, err := m.KernelNews(ctx, cause.Condemns)
	if err != nil {
		return "", fmt.Errorf("look at the kernel's log: %w", err)
	}
	if news.Line != "" {
		if err := drainSelf(ctx, s, node, fleet.KernelReason(news.Line)); err != nil {
			return "", fmt.Errorf("drain this node, whose kernel says %q: %w", news.Line, err)
		}
	}
	if err := m.Keep(news); err != nil {
		return "", fmt.Errorf("note what was looked at of the kernel's log: %w", err)
	}
	return news.Missed, nil
}

// drainSelf takes the node out of service, unless it is already: who did that has his reason.
func drainSelf(ctx context.Context, s slurm.Client, node, reason string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, drainWait, fmt.Errorf("no answer of Slurm's within %s", drainWait))
	defer cancel()
	all, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(n slurm.Node) bool { return n.Name == node })
	switch {
	case i < 0:
		return fmt.Errorf("slurm knows no node %q", node)
	case all[i].State.Flags&slurm.FlagDrain != 0:
		return nil
	}
	return s.UpdateNodes(ctx, []string{node}, "DRAIN", reason)
}
