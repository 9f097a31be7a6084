//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/muster-hpc/muster/internal/local/doctor"
	"github.com/muster-hpc/muster/internal/say/fault"
)

type doctorOptions struct{ yes, demo bool }

func (a *app) doctor() *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: doctorShort,
		Long: `Doctor looks whether this machine can run clusters, and says for all that is
missing which command mends it. As root it installs what is missing from Debian,
after asking or with --yes. It starts no service and changes no configuration.

It ends with exit code 0 if nothing is missing, with 1 if something is, and with 3
if something could not be looked at.`,
		Example: "  muster doctor\n  sudo muster doctor --yes\n  muster doctor --demo -o json | jq '.missing_packages'",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.runDoctor(c.Context(), o) },
	}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "install what is missing without asking")
	c.Flags().BoolVar(&o.demo, "demo", false, "look for what muster demo --whole needs, too")
	return c
}

// runDoctor looks, and installs missing packages if it may.
func (a *app) runDoctor(ctx context.Context, o doctorOptions) error {
	options, err := a.doctorOptions(o)
	if err != nil {
		return err
	}
	report, err := doctor.Run(ctx, options)
	if err != nil {
		return err
	}
	if report.Command != "" && (o.yes || a.canAsk()) {
		// The checks come before the question that they lead to.
		if err := a.showChecks(report, doctor.Brief); err != nil {
			return err
		}
		options.Install = true
		if report, err = doctor.Run(ctx, options); err != nil && !errors.Is(err, doctor.ErrNotRoot) {
			return err
		}
	}
	if a.output == "json" {
		err = a.writeJSON(report)
	} else {
		err = a.showChecks(report, doctor.Full)
	}
	if err != nil {
		return err
	}
	return a.verdict(report)
}

// showChecks shows a report to people.
func (a *app) showChecks(r doctor.Report, form doctor.Form) error {
	if a.output == "json" {
		return nil
	}
	return r.WriteText(a.out, form)
}

func (a *app) doctorOptions(o doctorOptions) (doctor.Options, error) {
	home, err := homeDir()
	if err != nil {
		return doctor.Options{}, err
	}
	options := doctor.Options{
		Groups: []string{doctor.Local}, StateDir: home, Yes: o.yes, Confirm: a.confirm, Self: mendWith(o), Now: time.Now(), Out: a.err,
	}
	if a.quiet {
		options.Out = io.Discard
	}
	if o.demo {
		options.Groups = append(options.Groups, doctor.Demo)
	}
	return options, nil
}

// canAsk reports whether the installation can be offered at a terminal.
func (a *app) canAsk() bool {
	in, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && os.Geteuid() == 0 && a.output == "text"
}

// mendWith is the command line that installs missing packages.
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

// verdict is the exit code that a report deserves.
func (a *app) verdict(r doctor.Report) error {
	switch {
	case !r.OK():
		return fault.Exit(fault.ExitProblem)
	case slices.ContainsFunc(r.Checks, func(f doctor.Finding) bool { return f.Status == doctor.Blind }):
		return fault.Exit(fault.ExitLook)
	case a.output == "text" && len(r.Missing) > 0:
		_, err := fmt.Fprintln(a.out, "nothing that every cluster needs is missing")
		return err
	case a.output == "text":
		_, err := fmt.Fprintln(a.out, "nothing is missing")
		return err
	}
	return nil
}
