package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/cluster"
	"github.com/muster-hpc/muster/internal/provider/local"
	"github.com/muster-hpc/muster/internal/reach"
)

func (a *app) shell() *cobra.Command {
	var o reach.Options
	c := &cobra.Command{
		Use:     "shell",
		Short:   "Open a shell on the head node, where sbatch, srun, squeue and sacct work",
		Example: "  muster shell\n  muster shell --cluster demo",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			w, err := a.find("")
			if err != nil {
				return err
			}
			if w.place == onAWS && !inside() {
				return a.login(c.Context(), w, o)
			}
			return a.enterLocal([]string{"env", "PS1=(" + w.name + ") \\w\\$ ", "/bin/bash", "--norc", "-i"})
		},
	}
	reachFlags(c, &o)
	return c
}

func (a *app) exec() *cobra.Command {
	var o reach.Options
	var node string
	c := &cobra.Command{
		Use:   "exec [--node NAME] [--] COMMAND [ARG...]",
		Short: "Run a command on the head node or on a node",
		Long: `Exec runs a command on the head node, with our input, output and exit code. On AWS
it goes by SSH, as "muster ssh" does, to the home directory of its user there.`,
		Example: "  muster exec sinfo\n  muster exec --node gpu-queue-dy-p5e-nodes-1 -- df -h /fsx1\n  muster exec -- tar -C /fsx -x <data.tar",
		Args:    cobra.MinimumNArgs(1),
	}
	c.Flags().SetInterspersed(false)
	c.Flags().StringVar(&node, "node", "", "the node `NAME` to run on (default: the head node), on this machine's clusters")
	reachFlags(c, &o)
	c.RunE = func(c *cobra.Command, args []string) error {
		w, err := a.find("")
		switch {
		case err != nil:
			return err
		case w.place == onAWS && !inside() && node != "":
			return errors.New("on AWS a command runs on a node as a job: `muster exec -- srun --nodelist=" + node + " COMMAND`")
		case w.place == onAWS && !inside():
			return a.enterAWS(c.Context(), w, o, reach.Use{Terminal: a.terminal()}, args)
		case node == "":
			return a.enterLocal(args)
		}
		return a.enterNode(node, args)
	}
	return c
}

// enterLocal becomes a program on the head node of a cluster on this machine.
func (a *app) enterLocal(args []string) error {
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
