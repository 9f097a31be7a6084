// Package batch finds what will fail, or be slow or lost, in a batch script,
// before it is submitted: in sbatch's options and in the shell below them. Given
// what the cluster has, it also finds what the script asks for in vain.
//
// The shell is read, never run. What depends on something that only a run can
// know is unknown, and no rule takes the unknown for a mistake. Rules that need
// facts of a cluster are silent without them.
//
// A rule is a function of a script in the file that is named for its subject.
// Every code has scripts in testdata/rules, one that the rule reports and one that
// it does not.
package batch

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/muster-hpc/muster/internal/diag"
)

// Check finds problems of a batch script. flags are sbatch's options on the
// command line, which win over the script's. facts may be nil.
func Check(name string, data []byte, flags []string, facts *Facts) *diag.List {
	return check(name, data, flags, facts, rules)
}

// check is what some rules say.
func check(name string, data []byte, flags []string, facts *Facts, rules func(*script)) *diag.List {
	s, ok := newScript(name, data, flags, facts)
	if !ok {
		return s.list
	}
	rules(s)
	secrets := s.secrets()
	return oneLine(hide(s.allow(s.seen(s.templated(s.list))), secrets))
}

// newScript reads a script. It is false for other files, and the list says why.
func newScript(name string, data []byte, flags []string, facts *Facts) (*script, bool) {
	s := &script{list: &diag.List{}, file: newFile(name, data), facts: facts}
	if !readable(s.list, name, data) {
		return s, false
	}
	s.directives, s.unfit, s.parts = directives(name, data)
	s.options = given(slices.Concat(s.directives, flagsOf(flags)))
	s.job = jobOf(s.options, facts)
	s.read()
	return s, true
}

// oneLine keeps control characters of the script out of messages.
func oneLine(list *diag.List) *diag.List {
	flat := func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}
	out := &diag.List{}
	for _, d := range list.All() {
		d.Message, d.Hint = strings.Map(flat, d.Message), strings.Map(flat, d.Hint)
		out.Append(d)
	}
	return out
}

// rules are all of them, by subject.
func rules(s *script) {
	syntaxRules(s)
	fitRules(s)
	s.featureRules()
	s.nodeRules()
	s.gresRules()
	s.dependencyRules()
	s.askedRules()
	s.needRules()
	mountRules(s)
	directiveRules(s)
	s.musterRules()
	refusedRules(s)
	s.lonelyRules()
	resourceRules(s)
	storageRules(s)
	rankRules(s)
	masterRules(s)
	launchRules(s)
	slurmRules(s)
	endingRules(s)
	environmentRules(s)
	resilienceRules(s)
	containerRules(s)
	hygieneRules(s)
}

// script is a batch script as rules see it.
type script struct {
	list *diag.List
	file *file
	// directives are the options of #SBATCH lines, options also those of the
	// command line, which come last and win. parts says that the job has several
	// parts (hetjob), whose options are not told apart and not kept.
	directives, options []Option
	// unread are the options of #SBATCH lines that sbatch does not read, unfit what it
	// refuses of those that it reads.
	unread []Option
	unfit  []unfitWord
	parts  bool
	job    job
	// facts are nil if nothing is known of the cluster.
	facts *Facts
	// shell is the interpreter if it is a shell that we read, such as "bash".
	shell string
	// broken is why the shell could not be read to its end. oddities are places that
	// bash reads, and fails at when it gets there.
	broken   *broken
	oddities []broken
	// tooMuch says that the shell is too long or too deeply nested to be read, cut that
	// a part of it is.
	tooMuch, cut bool
	// commands are the simple commands in the order of the script, those inside
	// of others behind them: srun, then what it runs. Bodies of functions come last.
	commands []*command
	// variables are the assignments in the same order, also those of env, of
	// srun's and of sbatch's --export.
	variables []*variable
	// words are all words that the shell expands.
	words []word
	// readNames is kept by surelyUsed.
	readNames map[string]bool
	// split counts the words that the shell makes of them beside those that are written.
	split int
	// functions are the names of those that the script defines.
	functions []string
	// comments are those of the shell, without the #.
	comments []word
}

// option finds the last of an option's occurrences.
func (s *script) option(name string) (Option, bool) {
	for _, o := range slices.Backward(s.options) {
		if o.Name == name {
			return o, true
		}
	}
	return Option{}, false
}

// has tells whether one of the options is given.
func (s *script) has(names ...string) bool {
	return slices.ContainsFunc(s.options, func(o Option) bool { return slices.Contains(names, o.Name) })
}

// meant tells whether one of the options is given, if only where sbatch does not
// read it.
func (s *script) meant(names ...string) bool {
	return s.has(names...) || slices.ContainsFunc(s.unread, func(o Option) bool { return slices.Contains(names, o.Name) })
}

// named are the commands of some names, such as "srun".
func (s *script) named(names ...string) []*command {
	var found []*command
	for _, c := range s.commands {
		if slices.Contains(names, c.name) {
			found = append(found, c)
		}
	}
	return found
}

// assigned are the assignments to a variable.
func (s *script) assigned(name string) []*variable {
	var found []*variable
	for _, v := range s.variables {
		if v.name == name {
			found = append(found, v)
		}
	}
	return found
}

func (s *script) errorf(code string, at diag.Place, format string, args ...any) *diag.Diagnostic {
	return s.list.Errorf(code, "", format, args...).At(at)
}

func (s *script) warnf(code string, at diag.Place, format string, args ...any) *diag.Diagnostic {
	return s.list.Warnf(code, "", format, args...).At(at)
}

func (s *script) infof(code string, at diag.Place, format string, args ...any) *diag.Diagnostic {
	return s.list.Infof(code, "", format, args...).At(at)
}

// whole is the place of problems that are not about one line.
func (s *script) whole() diag.Place { return diag.Place{File: s.file.name} }

// read reads the shell below the options, if the interpreter is one.
func (s *script) read() {
	for _, o := range s.options {
		if o.Name == "export" {
			s.variables = append(s.variables, exports(value{text: o.Value}, o.Place, context{})...)
		}
	}
	if s.shell = shellOf(s.file.data); s.shell == "" {
		return
	}
	w := newWalker(s)
	w.text(inner{text: string(s.file.data), offsets: nil}, context{})
	w.functions()
}

// shells are those whose scripts are read, all in the same way.
var shells = []string{"bash", "sh", "dash", "ksh"}

// shellOf is the shell that a script names in its first line; "" is none.
func shellOf(data []byte) string {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	fields := strings.Fields(strings.TrimPrefix(text(first), "#!"))
	if len(fields) == 0 {
		return ""
	}
	name := path.Base(fields[0])
	if name == "env" {
		rest := slices.DeleteFunc(fields[1:], func(f string) bool { return strings.HasPrefix(f, "-") || strings.Contains(f, "=") })
		if len(rest) == 0 {
			return ""
		}
		name = path.Base(rest[0])
	}
	if slices.Contains(shells, name) {
		return name
	}
	return ""
}
