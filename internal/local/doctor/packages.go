package doctor

import (
	"context"
	"os"
	"strings"
	"time"
)

// lookAtPackages asks apt and dpkg about the missing packages.
func (f *Facts) lookAtPackages(ctx context.Context, o Options) {
	f.lookAtStates(ctx, o)
	missing := f.missing(o)
	if len(missing) == 0 {
		return
	}
	policy, err := output(ctx, findProgram("apt-cache"), append([]string{"policy"}, missing...)...)
	if err != nil {
		f.Blind["packages"] = err.Error()
	}
	f.Known = parsePolicy(policy)
	f.ListsAge = listsAge(o.Now)
}

// lookAtStates asks dpkg whether an installation was cut off.
func (f *Facts) lookAtStates(ctx context.Context, o Options) {
	audit, err := output(ctx, findProgram("dpkg"), "--audit")
	if err != nil {
		f.Blind["packages"] = err.Error()
	}
	f.Unfinished = strings.TrimSpace(audit) != "" || matches("/var/lib/dpkg/updates/[0-9]*")
	if !f.Unfinished {
		return
	}
	args := []string{"--show", "--showformat", "${Package} ${db:Status-Status}\n"}
	for _, n := range o.needs() {
		args = append(args, n.pkg)
	}
	// If it does not know one of the packages it fails, but prints the others.
	states, _ := output(ctx, findProgram("dpkg-query"), args...)
	f.Half = halfInstalled(states)
}

// halfInstalled reads names and states: those that are between absent and
// installed.
func halfInstalled(states string) []string {
	var half []string
	for line := range strings.Lines(states) {
		name, state, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch state {
		case "installed", "not-installed", "config-files":
		default:
			half = append(half, name)
		}
	}
	return half
}

// parsePolicy reads apt-cache policy: the packages that could be installed.
func parsePolicy(text string) map[string]bool {
	known := map[string]bool{}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line != "" && line[0] != ' ' {
			name = strings.TrimSuffix(line, ":")
			continue
		}
		if candidate, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: "); ok && candidate != "(none)" {
			known[name] = true
		}
	}
	return known
}

// listsAge is how long ago apt-get update ran last.
func listsAge(now time.Time) time.Duration {
	var newest time.Time
	for _, path := range []string{"/var/lib/apt/lists", "/var/lib/apt/lists/partial", "/var/lib/apt/periodic/update-success-stamp"} {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	if newest.IsZero() || now.Before(newest) {
		return 0
	}
	return now.Sub(newest)
}

// missing are the packages of which something is missing.
func (f Facts) missing(o Options) []string {
	var packages []string
	for _, n := range o.needs() {
		if len(f.lacks(n)) > 0 {
			packages = append(packages, n.pkg)
		}
	}
	return packages
}

// lacks are the parts of a need that are missing, as users know them.
func (f Facts) lacks(n need) []string {
	var lacks []string
	for _, program := range n.programs {
		if f.Programs[program] == "" {
			lacks = append(lacks, program)
		}
	}
	for _, pattern := range n.files {
		if !f.Files[pattern] {
			lacks = append(lacks, pattern[strings.LastIndexByte(pattern, '/')+1:])
		}
	}
	return lacks
}
