package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// readers are programs that write nothing to the paths that they are given.
var readers = []string{
	"ls", "find", "cd", "pushd", "test", "[", "cat", "du", "stat", "basename", "dirname", "realpath", "readlink", "head", "tail", "wc", "sort", "diff",
	"rm", "rmdir", "md5sum", "sha256sum", "file", "export", "sbatch", "mapfile", "cut", "tree", "df",
}

var (
	// loadName is how options are called that read a checkpoint, saveName those that
	// write one.
	loadName = pattern.New(`(?i)(^|[-_.])(load|resume|init|initial|pretrained|from|restore|eval|eval-?only|test|infer|convert|src|source|input|in|base|teacher|read)([-_.]|$)|^model([-_.]?name([-_.]or[-_.]path)?|[-_.]path)?$`)
	saveName = pattern.New(`(?i)(^|[-_.])(save|saves|output|out|write|dest|target|store)([-_.]|$)`)
	// optionBefore is the option that a text ends with, whose value comes next.
	optionBefore = pattern.New(`(?:^|[\s"'({])(?:--?)?([\w.-]+?)(?:=|\s+)["']*$`)
)

// evaluation is how people call programs that read a checkpoint and write none.
var evaluation = pattern.New(`(?i)(^|[/_-])(eval|evaluate|evaluation|infer|inference|generate|generation|predict|prediction|sample|sampling|serve|server|test|demo|score)(_[a-z0-9_]*)?\.py$`)

// readsCheckpoints tells whether a program is called as one that reads checkpoints and writes none.
func (c *command) readsCheckpoints() bool {
	i := slices.IndexFunc(c.words, func(w word) bool { return strings.HasSuffix(w.text, ".py") })
	return i >= 0 && evaluation().MatchString(c.words[i].text) && !trainingName().MatchString(c.words[i].text)
}

// loads tells whether a name is that of something that is read only.
func loads(name string) bool { return loadName().MatchString(name) && !saveName().MatchString(name) }

// writesTo tells whether the script may write to the path in a variable: by a command
// that takes it, or by a program that sees it in its environment. A variable that is only
// tested, listed or loaded from tells nothing of where checkpoints go.
func (s *script) writesTo(name string) bool {
	for _, n := range s.holders(name) {
		if s.hasTasks() && s.exportedRank(n) {
			return true
		}
		for _, c := range s.commands {
			if c.writesVariable(n) {
				return true
			}
		}
		for _, w := range s.words {
			if expands(w.raw, n) && (w.role == written || w.role == document || w.role == assigned && !loadsIn(w.raw, n)) {
				return true
			}
		}
	}
	return false
}

// holders are a variable and those whose value begins with its path.
func (s *script) holders(name string) []string {
	names := []string{name}
	for i := 0; i < len(names); i++ {
		for _, v := range s.variables {
			first := v.raw
			if len(v.items) == 1 {
				first = v.items[0].raw
			}
			if p := parameterName().FindStringSubmatch(strings.TrimLeft(first, `"`)); p != nil && p[1] == names[i] && !slices.Contains(names, v.name) {
				names = append(names, v.name)
			}
		}
	}
	return names
}

// writesVariable tells whether a command may write to the path in a variable.
func (c *command) writesVariable(name string) bool {
	if slices.Contains(readers, c.name) || slices.Contains(wordy, c.name) {
		return false
	}
	own := c.own()
	if !slices.ContainsFunc(own, func(w word) bool { return expands(w.raw, name) }) {
		return false
	}
	evaluates := c.readsCheckpoints()
	for i, w := range own {
		if !expands(w.raw, name) || slices.Contains(copiers, c.name) && i+1 < len(own) {
			continue
		}
		before := ""
		if i > 0 {
			before = own[i-1].raw + " "
		}
		if m := optionBefore().FindStringSubmatch(before); evaluates && (m == nil || !saveName().MatchString(m[1])) {
			continue
		}
		if !loadsIn(before+w.raw, name) {
			return true
		}
	}
	return false
}

// loadsIn tells whether all that a text does with a variable is to hold its path, or to
// give it to options that read.
func loadsIn(raw, name string) bool {
	for _, e := range expansionsIn(raw) {
		if e.name != name {
			continue
		}
		before := strings.TrimLeft(raw[:e.at], `"'`)
		if before == "" { // the value of another variable, which is looked at by itself
			continue
		}
		if m := optionBefore().FindStringSubmatch(before); m == nil || !loads(m[1]) {
			return false
		}
	}
	return true
}
