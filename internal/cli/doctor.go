package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/muster-hpc/muster/internal/doctor"
	"github.com/muster-hpc/muster/internal/provider/local"
)

type doctorOptions struct{ yes, demo bool }

func (a *app) doctor() *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine has and lacks, and mend it",
		Long: `Doctor looks whether this machine can run clusters, and says for all that is
missing which command mends it. As root it installs what is missing from Debian,
after asking or with --yes. It starts no service and changes no configuration.

It ends with exit code 0 if nothing is missing, with 1 if something is, and with 3
if something could not be looked at.`,
		Example: "  muster doctor\n  sudo muster doctor --yes\n  muster doctor --demo -o json | jq '.missing_packages'",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			report, err := a.examine(c.Context(), o)
			if err != nil && !errors.Is(err, doctor.ErrNotRoot) {
				return err
			}
			return a.showReport(report)
		},
	}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "install what is missing without asking")
	c.Flags().BoolVar(&o.demo, "demo", false, "look for what `muster demo` trains with, too")
	return c
}

func (a *app) examine(ctx context.Context, o doctorOptions) (doctor.Report, error) {
	home, err := local.Home()
	if err != nil {
		return doctor.Report{}, err
	}
	out := a.err
	if a.quiet {
		out = io.Discard
	}
	options := doctor.Options{
		Groups: []string{doctor.Local}, StateDir: home, Install: o.yes || a.canAsk(), Yes: o.yes, Confirm: a.confirm,
		Self: mendWith(o), Now: time.Now(), Out: out,
	}
	if o.demo {
		options.Groups = append(options.Groups, doctor.Demo)
	}
	return doctor.Run(ctx, options)
}

// canAsk tells whether somebody at a terminal could say yes to an installation.
func (a *app) canAsk() bool {
	in, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && os.Geteuid() == 0 && a.output == "text"
}

// mendWith is the command line that installs what is missing.
func mendWith(o doctorOptions) string {
	self, err := os.Executable()
	if err != nil {
		self = "muster"
	}
	line := []string{self, "doctor", "--yes"}
	if o.demo {
		line = append(line, "--demo")
	}
	return strings.Join(line, " ")
}

func (a *app) showReport(r doctor.Report) error {
	if a.output == "json" {
		if err := a.writeJSON(r); err != nil {
			return err
		}
	} else if err := r.WriteText(a.out, doctor.Full); err != nil {
		return err
	}
	switch worst := r.Worst(); {
	case !r.OK():
		return exitCode(exitProblem)
	case worst == doctor.Blind:
		return exitCode(exitLook)
	case a.output == "text":
		_, err := fmt.Fprintln(a.out, "nothing is missing")
		return err
	}
	return nil
}
