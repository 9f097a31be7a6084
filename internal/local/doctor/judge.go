package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
)

// Status is how a check came out.
type Status string

// The statuses. Blind is a check that could not look, which is never a pass;
// Skip is one that does not apply here.
const (
	Pass  Status = "pass"
	Warn  Status = "warn"
	Fail  Status = "fail"
	Skip  Status = "skip"
	Blind Status = "blind"
)

// rank orders statuses by how much they matter.
func rank(s Status) int { return slices.Index([]Status{Skip, Pass, Blind, Warn, Fail}, s) }

// Finding is one check's outcome.
type Finding struct {
	// Name is stable: "package/munge", "namespaces".
	Name   string `json:"name"`
	Status Status `json:"status"`
	Text   string `json:"text"`
	// Hint is something to type or to change, "" if there is nothing.
	Hint string `json:"hint,omitempty"`
}

// What a machine should have free for a cluster of its own. The daemons and 80
// nodes need about 500 MB; the demo's training as much again.
const (
	leastMemory, fineMemory = 512 << 20, 2 << 30
	leastDisk, fineDisk     = 512 << 20, 4 << 30
)

// judge says what the facts mean for a cluster on this machine: every check,
// those that pass included.
func judge(f Facts, o Options) []Finding {
	findings := []Finding{judgeSystem(f), judgeDebian(f, o)}
	for _, n := range o.needs() {
		findings = append(findings, judgeNeed(f, n))
	}
	findings = append(findings, judgePackages(f), judgeVersion(f))
	findings = append(findings, judgeUsers(f)...)
	findings = append(findings, judgeNamespaces(f), judgeOverlay(f), judgeFuse(f))
	findings = append(findings, judgeRoom(f, "memory", f.FreeMemory, leastMemory, fineMemory, "are free for programs"))
	findings = append(findings, judgeRoom(f, "disk", f.FreeDisk, leastDisk, fineDisk, "are free in "+cmp.Or(f.StateDir, "/")))
	return append(findings, judgeCores(f), judgeServices(f))
}

func judgeSystem(f Facts) Finding {
	text := f.System + " on " + f.Machine
	switch {
	case f.System != "linux":
		return Finding{"system", Fail, text + ": clusters of this machine's own need Linux", ""}
	case f.Machine != "amd64" && f.Machine != "arm64":
		return Finding{"system", Warn, text + ": tried on amd64 and arm64 only", ""}
	}
	return Finding{"system", Pass, text, ""}
}

func judgeDebian(f Facts, o Options) Finding {
	name := cmp.Or(f.OS.Name, f.OS.ID, "an unknown system")
	derived := slices.Contains(f.OS.Like, "debian") || slices.Contains(f.OS.Like, "ubuntu")
	switch {
	case f.Apt && f.OS.ID == "debian":
		return Finding{"debian", Pass, name, ""}
	case f.Apt && derived:
		return Finding{"debian", Pass, name + ", which has Debian's packages", ""}
	case !slices.ContainsFunc(o.needs(), func(n need) bool { return !n.optional && len(f.lacks(n)) > 0 }):
		return Finding{"debian", Warn, name + " is not Debian; what is needed is here nevertheless", ""}
	}
	return Finding{"debian", Fail, name + " is not Debian, and what is missing can only be installed from Debian",
		"install by your system's own means: " + strings.Join(f.missing(o), " ")}
}

func judgeNeed(f Facts, n need) Finding {
	name := "package/" + n.pkg
	if lacks := f.lacks(n); len(lacks) > 0 {
		status := Fail
		if n.optional {
			status = Warn
		}
		return Finding{name, status, fmt.Sprintf("%s: missing %s", n.what, strings.Join(lacks, ", ")), installHint(f, n.pkg)}
	}
	return Finding{name, Pass, n.what, ""}
}

func judgePackages(f Facts) Finding {
	const name, hint = "packages", "sudo dpkg --configure -a"
	switch {
	case f.Blind[name] != "":
		return Finding{name, Blind, f.Blind[name], ""}
	case !f.Apt:
		return Finding{name, Skip, "there is no apt", ""}
	case len(f.Half) > 0:
		return Finding{name, Fail, "an installation was cut off: " + strings.Join(f.Half, ", "), hint}
	case f.Unfinished:
		return Finding{name, Warn, "an installation of other packages was cut off", hint}
	}
	return Finding{name, Pass, "no installation was cut off", ""}
}

func installHint(f Facts, pkg string) string {
	if !f.Apt {
		return ""
	}
	return Plan{Packages: []string{pkg}}.command(f.Root, "")
}

// The versions of Slurm whose output this program knows.
var oldest, newest = [2]int{22, 5}, [2]int{25, 11}

func judgeVersion(f Facts) Finding {
	const name = "slurm"
	switch v, ok := parseVersion(f.SlurmVersion); {
	case f.Programs["slurmctld"] == "":
		return Finding{name, Skip, "Slurm is not installed", ""}
	case f.Blind[name] != "":
		return Finding{name, Blind, "Slurm's version: " + f.Blind[name], ""}
	case !ok:
		return Finding{name, Blind, fmt.Sprintf("Slurm's version %q is no version", f.SlurmVersion), ""}
	case slices.Compare(v[:], oldest[:]) < 0 || slices.Compare(v[:], newest[:]) > 0:
		return Finding{name, Warn, fmt.Sprintf("Slurm %s: 22.05 to 25.11 are known to work", f.SlurmVersion), ""}
	}
	return Finding{name, Pass, "Slurm " + f.SlurmVersion, ""}
}

// parseVersion reads year and month of "22.05.8".
func parseVersion(text string) ([2]int, bool) {
	parts := strings.SplitN(text, ".", 3)
	if len(parts) < 2 {
		return [2]int{}, false
	}
	year, err1 := strconv.Atoi(parts[0])
	month, err2 := strconv.Atoi(parts[1])
	return [2]int{year, month}, err1 == nil && err2 == nil
}

// judgeUsers looks at the users that daemons run as when root starts them.
func judgeUsers(f Facts) []Finding {
	var findings []Finding
	for _, u := range users {
		name := "user/" + u.name
		switch {
		case !f.Root:
			findings = append(findings, Finding{name, Skip, "everything runs as you", ""})
		case f.Users[u.name]:
			findings = append(findings, Finding{name, Pass, "user " + u.name, ""})
		case f.misses(u.pkg):
			findings = append(findings, Finding{name, Skip, fmt.Sprintf("user %s comes with %s", u.name, u.pkg), ""})
		default:
			findings = append(findings, Finding{name, Fail, "there is no user " + u.name,
				"adduser --system --group --no-create-home --home /nonexistent " + u.name})
		}
	}
	return findings
}

// misses tells whether a package is missing.
func (f Facts) misses(pkg string) bool {
	return slices.ContainsFunc(allNeeds, func(n need) bool { return n.pkg == pkg && len(f.lacks(n)) > 0 })
}

func judgeNamespaces(f Facts) Finding {
	if f.Namespaces.Worked {
		return Finding{"namespaces", Pass, "nodes can have namespaces of their own", ""}
	}
	return Finding{"namespaces", Fail, "nodes cannot have namespaces of their own: " + f.Namespaces.Said, namespaceHint(f)}
}

// namespaceHint finds the kernel's setting that forbids namespaces.
func namespaceHint(f Facts) string {
	for _, limit := range []string{"user.max_user_namespaces", "user.max_net_namespaces", "user.max_pid_namespaces", "user.max_mnt_namespaces"} {
		if f.Limits[limit] == "0" {
			return "sudo sysctl -w " + limit + "=10000"
		}
	}
	switch {
	case f.Root:
		return "in a container: start it with --privileged"
	case f.Limits["kernel.unprivileged_userns_clone"] == "0":
		return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
	case f.Limits["kernel.apparmor_restrict_unprivileged_userns"] == "1":
		return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	}
	return "run it as root"
}

func judgeOverlay(f Facts) Finding {
	switch {
	case f.Overlay.Worked:
		return Finding{"overlay", Pass, "nodes can have a root of their own over this machine's", ""}
	case !f.Namespaces.Worked:
		return Finding{"overlay", Skip, "needs namespaces", ""}
	case f.Root:
		return Finding{"overlay", Fail, "nodes cannot have a root of their own: " + f.Overlay.Said, "modprobe overlay"}
	}
	return Finding{"overlay", Fail, "nodes cannot have a root of their own: " + f.Overlay.Said, "run it as root"}
}

// judgeFuse looks at what the images of containers are mounted with. Clusters work
// without it; containers do not.
func judgeFuse(f Facts) Finding {
	const name = "fuse"
	sudo := sudoFor(f.Root)
	switch {
	case !f.Fuse.Present:
		return Finding{name, Warn, "there is no /dev/fuse, with which ordinary users' containers are made", sudo + "modprobe fuse"}
	case !f.Fuse.Mine:
		return Finding{name, Warn, "you may not open /dev/fuse, with which containers are made", sudo + "chmod 0666 /dev/fuse"}
	case !f.Fuse.Everyones:
		return Finding{name, Warn, "ordinary users may not open /dev/fuse, with which their containers are made", sudo + "chmod 0666 /dev/fuse"}
	}
	return Finding{name, Pass, "every user may open /dev/fuse, with which containers are made", ""}
}

// judgeRoom judges an amount of bytes that is free.
func judgeRoom(f Facts, name string, free, least, fine int64, where string) Finding {
	text := fmt.Sprintf("%.1f GB %s", float64(free)/1e9, where)
	switch {
	case f.Blind[name] != "":
		return Finding{name, Blind, f.Blind[name], ""}
	case free < least:
		return Finding{name, Fail, text + fmt.Sprintf("; a cluster needs %.1f GB", float64(least)/1e9), ""}
	case free < fine:
		return Finding{name, Warn, text + fmt.Sprintf("; %.1f GB are comfortable", float64(fine)/1e9), ""}
	}
	return Finding{name, Pass, text, ""}
}

func judgeCores(f Facts) Finding {
	if f.Cores < 2 {
		return Finding{"cores", Warn, "one core: a cluster runs, slowly", ""}
	}
	return Finding{"cores", Pass, count.Of(f.Cores, "core"), ""}
}

func judgeServices(f Facts) Finding {
	if len(f.Running) == 0 {
		return Finding{"services", Pass, "this machine runs no Slurm of its own", ""}
	}
	return Finding{"services", Pass, "this machine's own services stay as they are: " + strings.Join(f.Running, ", "), ""}
}

// judgeChange says whether an installation kept its promise about services.
func judgeChange(before, after Facts) Finding {
	isNew := func(old []string) func(string) bool {
		return func(name string) bool { return slices.Contains(old, name) }
	}
	started := slices.DeleteFunc(slices.Clone(after.Running), isNew(before.Running))
	enabled := slices.DeleteFunc(slices.Clone(after.Enabled), isNew(before.Enabled))
	switch {
	case len(started) > 0:
		return Finding{"installation", Warn, "services run now that did not before: " + strings.Join(started, ", "),
			"sudo systemctl stop " + strings.Join(unitsOf(started), " ")}
	case len(enabled) > 0:
		return Finding{"installation", Warn, "services start with the machine now: " + strings.Join(enabled, ", "),
			"sudo systemctl disable " + strings.Join(enabled, " ")}
	}
	return Finding{"installation", Pass, "no service was started or enabled", ""}
}

// unitsOf are the service manager's names of daemons.
func unitsOf(running []string) []string {
	names := make([]string, len(running))
	for i, name := range running {
		names[i] = units[slices.Index(daemons, name)]
	}
	return names
}
