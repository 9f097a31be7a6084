// Package doctor says what this machine has and lacks for clusters of its own,
// and installs from Debian what it lacks.
//
// It looks (look), judges what it saw (judge, newPlan) and, if asked to,
// installs (install). Installing starts no service, enables none, removes no
// package and leaves every configuration file that exists as it is. It can be
// run again after it was cut off anywhere.
package doctor

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"
)

// Options say what to look at and what to do about it.
type Options struct {
	// Groups are the groups of needs: Local, and Demo for what
	// the whole demo's image is made with. None is Local alone.
	Groups []string
	// StateDir is where clusters keep their state; its disk is looked at. It
	// need not exist.
	StateDir string
	// Install installs the missing packages, as root; an ordinary user is told
	// the command.
	Install bool
	// Yes installs without asking. Otherwise Confirm is asked, and an error of it
	// ends the run; without Confirm, nothing is installed.
	Yes     bool
	Confirm func(question string) error
	// Self is the command that installs, without sudo, such as
	// "/usr/bin/muster doctor --install". It is what an ordinary user is told.
	// "" stands for apt-get, which also starts the services that it installs.
	Self string
	// Now is the time, for the age of the package lists.
	Now time.Time
	// Out gets the installation's progress.
	Out io.Writer
}

// Local and Demo are the groups of needs.
const (
	Local = "local"
	Demo  = "demo"
)

// ErrNotRoot means that packages are missing and that only root can install
// them: see Report.Command.
var ErrNotRoot = errors.New("only root can install packages")

// Report is what Run found and did.
type Report struct {
	Checks []Finding `json:"checks"`
	// Missing are the packages to install, and Command the command that does.
	Missing []string `json:"missing_packages"`
	Command string   `json:"command,omitempty"`
	// Installed are the packages that this run installed.
	Installed []string `json:"installed_packages"`
}

// worst is the worst status of all checks: pass if there is none.
func (r Report) worst() Status {
	worst := Pass
	for _, f := range r.Checks {
		if rank(f.Status) > rank(worst) {
			worst = f.Status
		}
	}
	return worst
}

// OK says that nothing stands in the way of a cluster. Warnings and checks that
// could not look do not.
func (r Report) OK() bool { return r.worst() != Fail }

// Run looks, judges and, if asked to, installs; then it looks again. The report
// is whole whenever the error is nil or ErrNotRoot.
func Run(ctx context.Context, o Options) (Report, error) {
	facts, err := look(ctx, o)
	if err != nil {
		return Report{}, err
	}
	plan := newPlan(facts, o)
	report := newReport(facts, plan, o)
	if !o.Install || plan.empty() {
		return report, nil
	}
	if !facts.Root {
		return report, ErrNotRoot
	}
	if err := consent(o, plan); err != nil {
		return report, err
	}
	if err := install(ctx, plan, o.Out); err != nil {
		return report, err
	}
	after, err := look(ctx, o)
	if err != nil {
		return report, err
	}
	report = newReport(after, newPlan(after, o), o)
	report.Installed = append(report.Installed, plan.Packages...)
	report.Checks = append(report.Checks, judgeChange(facts, after))
	return report, nil
}

func newReport(f Facts, p Plan, o Options) Report {
	r := Report{Checks: judge(f, o), Missing: p.Packages, Installed: []string{}}
	if r.Missing == nil {
		r.Missing = []string{}
	}
	if !p.empty() {
		r.Command = p.command(f.Root, o.Self)
	}
	return r
}

// consent asks whether to install.
func consent(o Options, p Plan) error {
	if o.Yes {
		return nil
	}
	if o.Confirm == nil {
		return errors.New("install packages: this needs a yes, from a terminal or by --yes")
	}
	return o.Confirm(p.question())
}

// groups are the groups of needs that were asked for.
func (o Options) groups() []string {
	if len(o.Groups) == 0 {
		return []string{Local}
	}
	return o.Groups
}

// needs are the needs of the groups that were asked for.
func (o Options) needs() []need {
	return slices.DeleteFunc(slices.Clone(allNeeds), func(n need) bool { return !slices.Contains(o.groups(), n.group) })
}
