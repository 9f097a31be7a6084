package job

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/slurm"
)

// outputPaths are where a job of the history wrote its output and its errors,
// as its batch script says. Options that were given on sbatch's command line
// are not known there. "" is a name that cannot be told.
func outputPaths(script []byte, r slurm.Run) (stdout, stderr string) {
	output, errors := "slurm-%j.out", ""
	if strings.Contains(r.Label, "_") {
		output = "slurm-%A_%a.out"
	}
	for _, o := range batch.Directives(script) {
		switch o.Name {
		case "output":
			output = o.Value
		case "error":
			errors = o.Value
		}
	}
	stdout = outputPath(output, r)
	if errors == "" {
		return stdout, stdout
	}
	return stdout, outputPath(errors, r)
}

// Appends says that all runs of a job write into one file, as far as its batch script says.
func Appends(script []byte) bool {
	appends, output := false, ""
	for _, o := range batch.Directives(script) {
		switch o.Name {
		case "open-mode":
			appends = strings.HasPrefix(strings.ToLower(o.Value), "a")
		case "output":
			output = o.Value
		}
	}
	return appends && !strings.Contains(output, "%N") // which may be another node's each time
}

// CheckpointDirs are the directories of checkpoints that a batch script names in its #MUSTER lines.
func CheckpointDirs(script []byte, r slurm.Run) (all []string) {
	for _, dir := range policy.Read(r.Label, script).Policy.Checkpoints {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(r.WorkDir, dir)
		}
		all = append(all, filepath.Clean(dir))
	}
	return all
}

// Logs are the files that a job writes to, as far as Slurm's names for them can be resolved.
func Logs(j slurm.Job) []string {
	j = resolved(j)
	var all []string
	for _, path := range []string{j.StdOut, j.StdErr} {
		if filepath.IsAbs(path) && !strings.Contains(path, "%") && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return all
}

// resolved is a job whose output files have the names that Slurm gives them:
// scontrol shows some patterns (%5j, %N) as they are. What cannot be resolved
// stays. Tasks of an array that have not started have no file yet.
func resolved(j slurm.Job) slurm.Job {
	if j.ArrayJobID != 0 && number(j.ArrayTask) == 0 && j.ArrayTask != "0" {
		j.StdOut, j.StdErr = "", ""
	}
	n := names{id: j.ID, label: j.Label(), name: j.Name, user: j.User, host: j.BatchHost}
	for _, path := range []*string{&j.StdOut, &j.StdErr} {
		if full, ok := n.expand(*path); ok {
			*path = full
		}
	}
	return j
}

// names are what patterns in file names stand for.
type names struct {
	id                      int
	label, name, user, host string
}

// outputPath is a file name of sbatch's with its patterns resolved.
func outputPath(pattern string, r slurm.Run) string {
	hosts, _ := slurm.Expand(r.NodeList)
	n := names{id: r.ID, label: r.Label, name: r.Name, user: r.User}
	if len(hosts) > 0 {
		n.host = hosts[0]
	}
	name, ok := pattern, true
	if strings.Contains(pattern, `\`) {
		name = strings.ReplaceAll(pattern, `\`, "") // and nothing is a pattern
	} else if name, ok = n.expand(pattern); !ok {
		return ""
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.WorkDir, name)
}

// expand puts in what %j and its like stand for. It fails for what it does not
// know.
func (n names) expand(pattern string) (string, bool) {
	var b strings.Builder
	for {
		text, rest, more := strings.Cut(pattern, "%")
		b.WriteString(text)
		if !more {
			return b.String(), true
		}
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		rest = rest[len(digits):]
		if rest == "" {
			return "", false
		}
		value, ok := n.value(rest[0], number(digits))
		if !ok {
			return "", false
		}
		b.WriteString(value)
		pattern = rest[1:]
	}
}

// value is what one letter stands for in the output of a batch script.
func (n names) value(letter byte, width int) (string, bool) {
	array, task, isTask := strings.Cut(n.label, "_")
	if !isTask {
		task = "4294967294" // Slurm's number for none
	}
	switch letter {
	case '%':
		return "%", true
	case 'j':
		return padded(strconv.Itoa(n.id), width), true
	case 'A':
		return padded(array, width), true
	case 'a':
		return padded(task, width), true
	case 'n', 't':
		return padded("0", width), true
	case 'x':
		return n.name, true
	case 'u':
		return n.user, true
	case 's':
		return "batch", true
	case 'N':
		return n.host, n.host != ""
	}
	return "", false
}

// padded puts zeros before a number. Slurm pads to ten digits at most.
func padded(number string, width int) string {
	const most = 10
	return strings.Repeat("0", max(0, min(width, most)-len(number))) + number
}

// number reads a whole number; 0 is none.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
