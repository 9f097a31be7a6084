package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/fault"
	"github.com/muster-hpc/muster/internal/shell"
)

func (a *app) shell() *cobra.Command {
	var o connect.Options
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
			w, err := a.find("")
			if err == nil {
				err = w.fits(c)
			}
			if err != nil {
				return err
			}
			switch {
			case w.place == onAWS && !inside() && node != "":
				return fault.Usage(errors.New("on AWS a shell runs on a node as a job: `muster exec -- srun --nodelist=" + node + " --pty bash`"))
			case w.place == onAWS && !inside():
				return a.login(c.Context(), w, o)
			case node == "":
				return a.enterLocal(c.Context(), a.shellLine(w.name))
			}
			return a.enterNode(c.Context(), node, a.shellLine(node))
		},
	}
	c.Flags().StringVar(&node, "node", "", "the node `NAME` to be on (default: the head node), on this machine's clusters")
	reachFlags(c, &o)
	return c
}

// terminalMaker runs a command on a terminal that it makes. The caller's own has no name
// among the terminals of a cluster's machine.
const terminalMaker = "/usr/bin/script"

// shellLine is the command line of a shell with a prompt that says where it is.
func (a *app) shellLine(where string) []string {
	line := []string{"env", "PS1=(" + where + ") \\w\\$ ", "/bin/bash", "--norc", "-i"}
	if _, err := os.Stat(terminalMaker); err != nil || !a.terminal() {
		return line
	}
	return []string{terminalMaker, "--quiet", "--return", "--command", "exec " + shell.Line(line), "/dev/null"}
}

func (a *app) exec() *cobra.Command {
	var o connect.Options
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
			return fault.Usage(errors.New("on AWS a command runs on a node as a job: `muster exec -- srun --nodelist=" + node + " COMMAND`"))
		case w.place == onAWS && !inside():
			return a.enterAWS(c.Context(), w, o, connect.Use{Terminal: a.terminal()}, args)
		case node == "":
			return a.enterLocal(c.Context(), args)
		}
		return a.enterNode(c.Context(), node, args)
	}
	return c
}
