package batch

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
)

// word is a word that the shell expands.
type word struct {
	value
	context
	diag.Place
	// raw is how the word is written, and start where in the file; 0 is not known.
	raw   string
	start int
	// role says what the word is for.
	role role
	// carried says that it is one of several words that the shell makes of one.
	carried bool
}

// role is what a word is for.
type role int

const (
	// argument is the program or an argument of a command.
	argument role = iota
	// assigned is the value of a variable, or an element of an array.
	assigned
	// written is the file that output goes to, opened one that input comes from.
	written
	opened
	// document is the text of a here-document.
	document
	// operand is a part of a test or of a case, listed one of the list of a loop.
	operand
	listed
)

// variable is an assignment.
type variable struct {
	name string
	// value is nothing where the script exports a variable that it does not set here.
	value
	context
	diag.Place
	// raw is the right side as it is written.
	raw string
	// exported says that programs see it, now or after a later export.
	exported bool
	// bare is an export without a value.
	bare bool
	// scope is the command that alone sees it, as in A=1 command; nil for all that
	// follow.
	scope *command
	// items are the elements of an array.
	items []word
}

// context is where in the script something stands.
type context struct {
	// srun starts it as a task, on the nodes of the step; nil is the body of the
	// script, which runs once, on the first node.
	srun *command
	// outer runs it as an argument: srun, env, timeout, bash -c and so on.
	outer *command
	// function is the name of the function that it is in the body of.
	function string
	// background: &. conditional: a branch that may not run. looped: in a loop.
	// subshell: in parentheses, a pipe or a substitution. substituted: in $(...).
	background, conditional, looped, subshell, substituted bool
	// piped says that its output goes into a pipe, tested that its exit code is
	// looked at: by if, while, &&, ||, !.
	piped, tested bool
	// maybe says that the script expects that it may not run or may fail: it depends on a
	// test, or nothing depends on it.
	maybe bool
	// errexit and pipefail are the shell's options at that point.
	errexit, pipefail bool
}

// task tells whether it runs in a task of srun's.
func (c context) task() bool { return c.srun != nil }

// contained is the command that puts it into a container, nil if there is none.
func (c context) contained() *command {
	for o := c.outer; o != nil; o = o.outer {
		if o.name == "srun" && o.has("container-image", "container-name") || slices.Contains(engines, o.name) {
			return o
		}
	}
	return nil
}

// engines are programs that run others in containers.
var engines = []string{"docker", "podman", "apptainer", "singularity", "enroot", "nerdctl"}

// command is a simple command.
type command struct {
	context
	diag.Place
	// name is the program without its directory, "" if it is not known.
	name string
	// words are the program and its arguments.
	words []word
	// variables are those of A=1 command.
	variables []*variable
	// options are sbatch's kind of options of srun, salloc and sbatch.
	options []Option
	// files are what its output and input are redirected to.
	files []word
	// at is where in words the command begins that it runs; 0 is nowhere.
	at int
	// index is its position among the commands of the script.
	index int
	// end is the last line of the statement.
	end int
}

// args are the words after the program.
func (c *command) args() []word {
	if len(c.words) == 0 {
		return nil
	}
	return c.words[1:]
}

// own are its words without those of a command that it runs.
func (c *command) own() []word {
	if c.at > 0 && c.at < len(c.words) {
		return c.words[:c.at]
	}
	return c.words
}

// has tells whether srun has one of some options.
func (c *command) has(names ...string) bool {
	return slices.ContainsFunc(c.options, func(o Option) bool { return slices.Contains(names, o.Name) })
}

// option is the last occurrence of an option of srun's.
func (c *command) option(name string) (Option, bool) {
	for _, o := range slices.Backward(c.options) {
		if o.Name == name {
			return o, true
		}
	}
	return Option{}, false
}

// flag is the value of a program's long option, as in --name=value and --name
// value. - and _ in names are one. The place is that of the option.
func (c *command) flag(names ...string) (word, bool) {
	args := c.args()
	for i, a := range args {
		name, text, has := strings.Cut(a.text, "=")
		if !strings.HasPrefix(name, "-") || !slices.Contains(names, strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")) {
			continue
		}
		if has {
			a.text = text
			return a, true
		}
		if i+1 < len(args) {
			found := args[i+1]
			found.Place = a.Place
			return found, true
		}
	}
	return word{}, false
}

// under tells whether a command of a name runs it.
func (c *command) under(names ...string) bool {
	for o := c.outer; o != nil; o = o.outer {
		if slices.Contains(names, o.name) {
			return true
		}
	}
	return false
}

// program is a word as the name of a program.
func program(w word) string {
	if !w.whole() {
		if i := strings.LastIndexByte(w.text, '/'); i >= 0 && !strings.ContainsRune(w.text[i:], hole) {
			return w.text[i+1:]
		}
		return ""
	}
	return path.Base(w.text)
}

// wrapped is where in a command the command begins that it runs; 0 is nowhere.
func (c *command) wrapped() int {
	switch c.name {
	case "srun":
		return c.afterSrun()
	case "env":
		return c.after(isAssignment, "u", "unset", "C", "chdir", "S", "split-string")
	case "timeout", "chrt":
		if i := c.after(nil, "s", "signal", "k", "kill-after"); i > 0 && i+1 < len(c.words) {
			return i + 1
		}
		return 0
	case "taskset":
		return c.afterTaskset()
	case "exec", "command", "nohup", "time", "nice", "ionice", "stdbuf", "setsid", "sudo", "unbuffer", "builtin":
		return c.after(nil, "n", "adjustment", "a", "c", "i", "o", "e", "u", "g", "f")
	case "conda", "mamba", "micromamba", "uv", "poetry", "pipenv":
		return c.afterEnvironment()
	case "apptainer", "singularity":
		return c.afterImage()
	case "numactl":
		return c.after(nil, "m", "N", "C", "i", "p", "membind", "cpunodebind", "physcpubind", "interleave", "preferred")
	}
	return c.beforeSrun()
}

// after is where the first word stands that is neither an option, nor the value
// of one of those named, nor passed over. 0 is nowhere.
func (c *command) after(pass func(string) bool, valued ...string) int {
	for i := 1; i < len(c.words); i++ {
		t := c.words[i].text
		switch {
		case t == "--":
			return (i + 1) % len(c.words)
		case strings.HasPrefix(t, "-") && len(t) > 1:
			if name := strings.TrimLeft(t, "-"); slices.Contains(valued, name) && (len(name) > 1 || len(t) == 2) {
				i++
			}
		case pass == nil || !pass(t):
			return i
		}
	}
	return 0
}

func isAssignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && isName(name)
}

func isName(text string) bool {
	return text != "" && strings.Trim(strings.ToUpper(text), "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && (text[0] < '0' || text[0] > '9')
}

// afterTaskset passes over taskset's mask, too.
func (c *command) afterTaskset() int {
	list := slices.ContainsFunc(c.args(), func(w word) bool { return w.text == "-c" || w.text == "--cpu-list" })
	i := c.after(nil)
	if i > 0 && i+1 < len(c.words) && (list || i > 0) {
		return i + 1
	}
	return 0
}

// afterSrun reads srun's options, and is where its program stands.
func (c *command) afterSrun() int {
	words := make([]optionWord, len(c.words)-1)
	for i, w := range c.args() {
		words[i] = optionWord{text: w.text, place: w.Place}
		if w.assumed && !srunOptions().takesNext(words[i]) {
			words[i].text += string(hole) // another value may be given
		}
	}
	options, _, n := readOptions(words, srunOptions())
	c.options = options
	if n == len(words) {
		return 0
	}
	return n + 1
}

// scripted is which word is a script of its own, as in bash -c '...'; 0 is none.
func (c *command) scripted() int {
	if !slices.Contains(shells, c.name) {
		return 0
	}
	for i, a := range c.args() {
		switch {
		case !strings.HasPrefix(a.text, "-"):
			return 0
		case !strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "c") && i+2 < len(c.words):
			return i + 2
		}
	}
	return 0
}
