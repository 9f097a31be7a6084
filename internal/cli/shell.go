package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/cluster"
	"github.com/muster-hpc/muster/internal/provider/local"
)

func (a *app) shell() *cobra.Command {
	return &cobra.Command{
		Use:     "shell",
		Short:   "Open a shell on the head node, where sbatch, srun, squeue and sacct work",
		Example: "  muster shell\n  muster shell --cluster demo",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ref, err := a.ref()
			if err != nil {
				return err
			}
			return a.enter([]string{"env", "PS1=(" + ref.Name + ") \\w\\$ ", "/bin/bash", "--norc", "-i"})
		},
	}
}

func (a *app) exec() *cobra.Command {
	c := &cobra.Command{
		Use:     "exec [--node NAME] -- COMMAND [ARG...]",
		Short:   "Run a command on the head node or on a node",
		Example: "  muster exec -- sinfo\n  muster exec --node gpu-queue-dy-p5e-nodes-1 -- df -h /fsx1",
		Args:    cobra.MinimumNArgs(1),
	}
	node := c.Flags().String("node", "", "the node `NAME` to run on (default: the head node)")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if *node == "" {
			return a.enter(args)
		}
		return a.enterNode(*node, args)
	}
	return c
}

// enter becomes a program on the head node.
func (a *app) enter(args []string) error {
	l, r, anchor, err := a.running()
	if err != nil {
		return err
	}
	return become(l.HeadCommand(anchor, a.visibleDir(l, r), args))
}

func (a *app) enterNode(node string, args []string) error {
	l, r, anchor, err := a.running()
	if err != nil {
		return err
	}
	pid, err := local.NodePID(anchor, node)
	if err != nil {
		return err
	}
	return become(l.NodeCommand(pid, a.visibleDir(l, r), args))
}

// running is the cluster that the command is about, if it runs.
func (a *app) running() (*local.Layout, local.Record, local.AnchorProcess, error) {
	ref, err := a.ref()
	if err != nil {
		return nil, local.Record{}, local.AnchorProcess{}, err
	}
	l, r, err := local.Open(ref.Layout().Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, r, local.AnchorProcess{}, fmt.Errorf("there is no cluster %s; `muster up FILE` makes one", ref.Name)
	}
	if err != nil {
		return nil, r, local.AnchorProcess{}, err
	}
	anchor, alive := l.Alive()
	if !alive {
		return nil, r, anchor, fmt.Errorf("cluster %s does not run; `muster up` starts it again", ref.Name)
	}
	return l, r, anchor, nil
}

// become replaces this program by another.
func become(line []string) error {
	err := syscall.Exec(line[0], line, append(cluster.HeadEnv(), enteredBy+"=1"))
	return fmt.Errorf("run %s: %w", line[0], err)
}
