package cli

import (
	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/place"
)

func (a *app) shell() *cobra.Command {
	var o place.Way
	var node string
	c := &cobra.Command{
		Use:   "shell [NAME]",
		Short: "Open a shell on the head node, where sbatch, srun, squeue and sacct work",
		Long: `Shell opens a shell on the head node, or on the node that --node names. On AWS it
logs in by SSH, or by Session Manager, as "muster ssh" does; the other flags are for
that.`,
		Example: "  muster shell\n  muster shell demo\n  muster shell --node gpu-queue-dy-p5e-nodes-1",
		Args:    a.clusterName,
		RunE: func(c *cobra.Command, _ []string) error {
			w, err := a.findFor(c)
			if err != nil {
				return err
			}
			return w.Shell(c.Context(), node, o)
		},
	}
	c.Flags().StringVar(&node, "node", "", "the node `NAME` to be on (default: the head node), on this machine's clusters")
	reachFlags(c, &o)
	return c
}

// findFor finds the cluster, and refuses flags that mean nothing there.
func (a *app) findFor(c *cobra.Command) (where, error) {
	w, err := a.find("")
	if err != nil {
		return w, err
	}
	return w, fits(c, w.place, w.name)
}

func (a *app) exec() *cobra.Command {
	var o place.Way
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
		w, err := a.findFor(c)
		if err != nil {
			return err
		}
		return w.Enter(c.Context(), place.Program{Args: args, Node: node, Way: o})
	}
	return c
}
