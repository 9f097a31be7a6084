package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/reach"
)

func (a *app) shell() *cobra.Command {
	var o reach.Options
	c := &cobra.Command{
		Use:   "shell [NAME]",
		Short: "Open a shell on the head node, where sbatch, srun, squeue and sacct work",
		Long: `Shell opens a shell on the head node. On AWS it logs in by SSH, or by Session
Manager, as "muster ssh" does; the flags are for that.`,
		Example: "  muster shell\n  muster shell demo",
		Args:    a.clusterName,
		RunE: func(c *cobra.Command, _ []string) error {
			w, err := a.find("")
			if err == nil {
				err = w.fits(c)
			}
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
		if err == nil {
			err = w.fits(c)
		}
		switch {
		case err != nil:
			return err
		case w.place == onAWS && !inside() && node != "":
			return usageError{errors.New("on AWS a command runs on a node as a job: `muster exec -- srun --nodelist=" + node + " COMMAND`")}
		case w.place == onAWS && !inside():
			return a.enterAWS(c.Context(), w, o, reach.Use{Terminal: a.terminal()}, args)
		case node == "":
			return a.enterLocal(args)
		}
		return a.enterNode(node, args)
	}
	return c
}
