package doctor

import (
	"slices"
	"strings"
	"time"
)

// Plan is what to install, and how.
type Plan struct {
	// Packages are Debian packages.
	Packages []string
	// Update has the package lists fetched first; Known says that the old ones
	// would do if that fails.
	Update, Known bool
	// Repair has an installation that was cut off finished first.
	Repair bool
	// OpenFuse lets every user open /dev/fuse, as Debian's device manager does
	// where there is one.
	OpenFuse bool
}

// listsLimit is how old package lists may be before they are fetched again.
const listsLimit = 24 * time.Hour

// newPlan decides what to install and to mend. Without apt nothing is installed.
func newPlan(f Facts, o Options) Plan {
	open := f.Fuse.Present && !f.Fuse.Everyones
	if !f.Apt {
		return Plan{OpenFuse: open}
	}
	p := Plan{Packages: f.missing(o), Known: true, OpenFuse: open}
	p.Repair = len(f.Half) > 0 || f.Unfinished && len(p.Packages) > 0
	for _, pkg := range p.Packages {
		p.Known = p.Known && f.Known[pkg]
	}
	p.Update = len(p.Packages) > 0 && (!p.Known || f.ListsAge > listsLimit)
	return p
}

// empty says that there is nothing to do.
func (p Plan) empty() bool { return !p.installs() && !p.OpenFuse }

// installs says that apt-get has something to do.
func (p Plan) installs() bool { return len(p.Packages) > 0 || p.Repair }

// question asks for leave to carry out the plan.
func (p Plan) question() string {
	var deeds []string
	switch {
	case len(p.Packages) > 0:
		deeds = append(deeds, "Install from Debian, starting no service: "+strings.Join(p.Packages, " ")+"?")
	case p.Repair:
		deeds = append(deeds, "Finish the installation of packages that was cut off?")
	}
	if p.OpenFuse {
		deeds = append(deeds, "Let every user open /dev/fuse?")
	}
	return strings.Join(deeds, " ")
}

// command is what to type to carry out the plan: self, with sudo if need be, or
// without self apt-get.
func (p Plan) command(root bool, self string) string {
	sudo := sudoFor(root)
	if self != "" {
		return sudo + self
	}
	var steps []string
	if p.Repair {
		steps = append(steps, sudo+"dpkg --configure -a")
	}
	if p.Update {
		steps = append(steps, sudo+"apt-get update")
	}
	if len(p.Packages) > 0 {
		steps = append(steps, sudo+"apt-get install --no-install-recommends "+strings.Join(p.Packages, " "))
	}
	if p.OpenFuse {
		steps = append(steps, sudo+"chmod 0666 /dev/fuse")
	}
	return strings.Join(steps, " && ")
}

// sudoFor is what command lines for root begin with.
func sudoFor(root bool) string {
	if root {
		return ""
	}
	return "sudo "
}

// step is one program of an installation.
type step struct {
	argv []string
	// mayFail says that the installation goes on without it.
	mayFail bool
}

// steps are the programs that carry out the plan. path is the PATH for
// packages' scripts.
func (p Plan) steps(path string) []step {
	const wait = "DPkg::Lock::Timeout=300"
	var steps []step
	if p.Repair {
		// A package whose dependencies are not unpacked yet stays for apt-get.
		steps = append(steps, step{argv: []string{"dpkg", "--force-confold", "--configure", "-a"}, mayFail: true})
	}
	if p.Update {
		steps = append(steps, step{argv: []string{"apt-get", "update", "-o", wait}, mayFail: p.Known})
	}
	if p.OpenFuse {
		steps = append(steps, step{argv: []string{"chmod", "--changes", "0666", "/dev/fuse"}})
	}
	if !p.installs() {
		return steps
	}
	return append(steps, step{argv: slices.Concat([]string{"apt-get", "install", "--yes", "--no-install-recommends", "--no-remove", "--fix-broken",
		"-o", wait, "-o", "DPkg::Path=" + path, "-o", "Dpkg::Options::=--force-confold"}, p.Packages)})
}
