package cli

import (
	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/place"
)

func (a *app) ssh() *cobra.Command {
	var o place.Way
	var dryRun bool
	c := &cobra.Command{
		Use:   "ssh [-- ARG...]",
		Short: "Log in to the head node by SSH",
		Long: `Ssh runs this machine's SSH with what leads to the head node: its address, user and
key pair, and the keys of the machine itself, which the head node leaves in the
cluster's bucket: SSH trusts no other. What stands behind -- is for SSH.

Where SSH's port does not answer, it goes through AWS's Session Manager, if its
plugin is installed. A cluster without a key pair is entered by Session Manager
alone. In ~/.ssh/config, the head node is Host muster-NAME.

To the head node of a cluster on this machine it leads, too, with the cluster's own
keys: no key of yours is needed.

It ends with SSH's exit code: 255 if there is no connection.`,
		Example: "  muster ssh\n  muster ssh -- -L 8888:localhost:8888\n  muster ssh --ssm\n  muster ssh --dry-run",
		Args:    nameBySSH,
		RunE: func(c *cobra.Command, args []string) error {
			if err := onHost(); err != nil {
				return err
			}
			w, err := a.findFor(c)
			if err != nil {
				return err
			}
			return w.SSH(c.Context(), place.SSHOptions{Args: args, DryRun: dryRun, Way: o})
		},
	}
	reachFlags(c, &o)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "print SSH's command line")
	return c
}

// reachFlags are those of commands that choose their way to a head node.
func reachFlags(c *cobra.Command, o *place.Way) {
	c.Flags().StringVar(&o.User, "user", "", "log in as `USER` (default: the image's)")
	c.Flags().StringVarP(&o.Identity, "identity", "i", "", "the `FILE` of the private key (default: the key pair's in ~/.ssh, or SSH's choice)")
	c.Flags().BoolVar(&o.Private, "private", false, "go to the private address, as from the VPC or a VPN")
	c.Flags().BoolVar(&o.Session, "ssm", false, "go through Session Manager")
}

// agentSession is what SSH speaks through where it goes through Session Manager.
func (a *app) agentSession() *cobra.Command {
	var region string
	c := &cobra.Command{
		Use:   "session INSTANCE",
		Short: "Carries SSH to an instance through Session Manager",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return aws.StartSession(c.Context(), region, connect.SSHSession(args[0]))
		},
	}
	c.Flags().StringVar(&region, "region", "", "the instance's `REGION`")
	return c
}
