package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/shell"
)

func (a *app) ssh() *cobra.Command {
	var o connect.Options
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
			w, err := a.sshPlace()
			if err != nil {
				return err
			}
			if w.place == onLocal {
				return a.sshHere(c, w, args, dryRun)
			}
			if dryRun || len(args) > 0 {
				return a.sshLine(c.Context(), w, o, args, dryRun)
			}
			return a.login(c.Context(), w, o)
		},
	}
	reachFlags(c, &o)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "print SSH's command line")
	return c
}

// reachFlags are those of commands that choose their way to a head node.
func reachFlags(c *cobra.Command, o *connect.Options) {
	c.Flags().StringVar(&o.User, "user", "", "log in as `USER` (default: the image's)")
	c.Flags().StringVarP(&o.Identity, "identity", "i", "", "the `FILE` of the private key (default: the key pair's in ~/.ssh, or SSH's choice)")
	c.Flags().BoolVar(&o.Private, "private", false, "go to the private address, as from the VPC or a VPN")
	c.Flags().BoolVar(&o.Session, "ssm", false, "go through Session Manager")
}

// sshPlace is the cluster that the command is about, wherever it is.
func (a *app) sshPlace() (where, error) {
	if err := onHost(); err != nil {
		return where{}, err
	}
	w, err := a.find("")
	if err == nil && w.place == "" {
		err = noCluster(w.home, w.name)
	}
	return w, err
}

// sshHere logs in to the head node of a cluster on this machine.
func (a *app) sshHere(c *cobra.Command, w where, args []string, dryRun bool) error {
	if err := w.fits(c); err != nil {
		return err
	}
	return a.sshLocal(args, dryRun)
}

// sshLine runs SSH with arguments of the user's, or prints how it would be run.
func (a *app) sshLine(ctx context.Context, w where, o connect.Options, args []string, dryRun bool) error {
	way, err := w.entrance(a).Way(ctx, o)
	if err != nil {
		return err
	}
	// What the user asks SSH for may last longer than a shared connection, or need one
	// of another kind.
	way.Alone = true
	line := way.Shell(args...)
	if dryRun {
		_, err := fmt.Fprintln(a.out, shell.Line(line))
		return err
	}
	return turnInto(line, os.Environ())
}

// login opens a login shell on the head node.
func (a *app) login(ctx context.Context, w where, o connect.Options) error {
	way, err := w.entrance(a).Find(ctx, o)
	if err != nil {
		return err
	}
	keyless := way.KeyName == "" && o.Identity == ""
	if (keyless || o.Session && len(way.HostKeys) == 0) && connect.PluginMissing(ctx) == nil {
		return a.startSession(ctx, w, connect.ShellSession(way.Head))
	}
	if way, err = w.entrance(a).Choose(ctx, way); err != nil {
		return err
	}
	return turnInto(way.Shell(), os.Environ())
}

// agentSession is what SSH speaks through where it goes through Session Manager.
func (a *app) agentSession() *cobra.Command {
	var region string
	c := &cobra.Command{
		Use:   "session INSTANCE",
		Short: "Carries SSH to an instance through Session Manager",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			w := where{}
			w.record.Region = region
			return a.startSession(c.Context(), w, connect.SSHSession(args[0]))
		},
	}
	c.Flags().StringVar(&region, "region", "", "the instance's `REGION`")
	return c
}

// startSession starts a session and becomes the program that carries it.
func (a *app) startSession(ctx context.Context, w where, order api.SessionOrder) error {
	acc, err := w.accountOf(ctx)
	if err != nil {
		return err
	}
	session, err := acc.StartSession(ctx, order)
	if err != nil {
		return err
	}
	line, env, err := connect.Plugin(acc.Region, os.Getenv("AWS_PROFILE"), session)
	if err != nil {
		return err
	}
	return turnInto(line, append(os.Environ(), env...))
}
