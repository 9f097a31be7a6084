package batch

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// mark is the byte order mark that some editors write in front of UTF-8.
const mark = "\xef\xbb\xbf"

// readable looks at what sbatch would not take for a batch script at all, and
// tells whether there is anything to look at in it.
func readable(list *diag.List, name string, data []byte) bool {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	top := diag.Place{File: name, Line: 1, Source: text(first)}
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		list.Errorf("script/empty", "", "the file is empty").At(diag.Place{File: name, Line: 1, Column: 1})
	case bytes.HasPrefix(data, []byte(mark+"#!")):
		list.Errorf("script/interpreter", "", "the file begins with a byte order mark, so that its first line names no interpreter to sbatch").At(top).
			WithHint(`sed -i '1s/^\xEF\xBB\xBF//' %s`, name)
	case !bytes.HasPrefix(data, []byte("#!")) && clusterFile(name, data):
		list.Errorf("script/interpreter", "", "this is a cluster file, not a batch script").At(diag.Place{File: name}).
			WithHint("`muster up %s` makes the cluster", name)
	case !bytes.HasPrefix(data, []byte("#!")):
		list.Errorf("script/interpreter", "", "this is no batch script: its first line does not name an interpreter").At(top).
			WithHint("begin the file with #!/bin/bash")
	case bytes.IndexByte(data, 0) >= 0:
		list.Errorf("script/null", "", "there is a NUL character in the script, and Slurm takes none that has one").At(newFile(name, data).place(bytes.IndexByte(data, 0)))
	case bytes.Contains(data, []byte("\r\n")):
		at := newFile(name, data).place(bytes.Index(data, []byte("\r\n")))
		at.Column = 0
		list.Errorf("script/line-ends", "", "the lines end as on Windows, with a carriage return").At(at).
			WithHint("sed -i 's/\\r$//' %s", name)
	default:
		return true
	}
	return false
}

// clusterFile guesses whether a file is a cluster file.
func clusterFile(name string, data []byte) bool {
	ext := strings.ToLower(name)
	return (strings.HasSuffix(ext, ".yaml") || strings.HasSuffix(ext, ".yml")) && bytes.Contains(data, []byte("Scheduling:"))
}

func syntaxRules(s *script) {
	s.firstLine()
	s.unreadable()
	s.continuations()
	s.quotedContinuations()
}

// unreadable is an error where the text ends in the middle. For the rest the
// shell may know better than we do; what stands below is not looked at.
func (s *script) unreadable() {
	for _, o := range s.oddities {
		s.warnf("script/syntax", o.Place, "the shell reads this, and stumbles over it when the job runs: %s", o.message)
	}
	switch b := s.broken; {
	case s.shell == "" && !s.parts && bytes.HasPrefix(s.file.data, []byte("#!")):
		line, _, _ := bytes.Cut(s.file.data, []byte("\n"))
		s.list.Blindf("script/unread", "", "what the script does is not looked up, as %q starts no sh or bash: only its options are", text(line)).At(s.whole())
	case s.tooMuch:
		s.list.Blindf("script/unread", "", "the shell, which is too long or too deeply nested, is not looked up").At(s.whole())
	case s.cut:
		s.list.Blindf("script/unread", "", "a part of the shell, which is too long or too deeply nested, is not looked up").At(s.whole())
	case b == nil:
	case b.unfinished:
		s.errorf("script/syntax", b.Place, "the shell cannot read this: %s", b.message)
	default:
		s.warnf("script/syntax", b.Place, "the shell may not be able to read this: %s", b.message).
			WithHint("bash -n %s", s.file.name)
		s.list.Blindf("script/unread", "", "the shell from the statement in line %d on is not looked up", b.Line).At(b.Place)
	}
}

// blindBelow tells whether a part of the shell was not read, so that what is not seen may
// be there all the same.
func (s *script) blindBelow() bool { return s.broken != nil || s.tooMuch || s.cut }

// absences are codes that say that something is not in the script.
var absences = []string{
	"script/one-node", "script/background", "script/endless-wait", "script/resume", "script/checkpoint", "script/signal", "script/trap", "script/preflight",
	"script/omp-threads", "script/not-run", "script/exit-code", "script/env-unexported", "script/kill-on-bad-exit", "script/srun-cpus", "script/cpus-per-task",
	"script/requeue", "script/open-mode", "script/pipefail", "script/errexit", "script/local-checkpoint", "script/rank-in-batch",
	"script/fixed-hosts",
}

// seen leaves out what may be false because a part of the shell was not read.
func (s *script) seen(list *diag.List) *diag.List {
	if !s.blindBelow() {
		return list
	}
	kept := &diag.List{}
	for _, d := range list.All() {
		if !slices.Contains(absences, d.Code) {
			kept.Append(d)
		}
	}
	return kept
}

var lastWord = pattern.New(`^\\[ \t]+(#.*)?$`)

// continuations finds a backslash that does not stand at the end of its line: it
// makes a word of the blank behind it, and the command ends there.
func (s *script) continuations() {
	for _, a := range s.words {
		if a.role != argument || a.Column == 0 || !strings.HasPrefix(a.raw, `\`) {
			continue
		}
		source := []rune(a.Source)
		if a.Column <= len(source) && lastWord().MatchString(string(source[a.Column-1:])) {
			s.errorf("script/continuation", a.Place, "the backslash is not the last character of its line, so the command ends here").
				WithHint("remove what stands behind it; a comment goes on a line of its own")
		}
	}
}

var blankBehind = pattern.New(`(?m)(?:^|[ \t])(\\)[ \t]+$`)

// quotedContinuations finds such a backslash in a text in quotation marks that becomes
// words of a command: it stays, and is a word of its own.
func (s *script) quotedContinuations() {
	for _, v := range s.variables {
		found := blankBehind().FindAllStringSubmatchIndex(v.raw, -1)
		if len(found) == 0 || !strings.HasPrefix(v.raw, `"`) || !s.becomesWords(v.name) {
			continue
		}
		at, ok := s.valueWord(v)
		if !ok {
			continue
		}
		for _, m := range found {
			if m[1] < len(v.raw) { // the last line ends with the quotation mark
				s.warnf("script/continuation", s.within(at, m[2]), "a blank stands behind the backslash, so that it stays in the text: a program gets it as an argument").
					WithHint("remove the blank")
			}
		}
	}
}

// valueWord is the word that a variable is set to.
func (s *script) valueWord(v *variable) (word, bool) {
	for _, w := range s.words {
		if w.role == assigned && w.raw == v.raw && w.Line == v.Line {
			return w, true
		}
	}
	return word{}, false
}

// becomesWords tells whether the shell makes words of a variable: without quotation marks,
// or in a text that a shell reads again.
func (s *script) becomesWords(name string) bool {
	return slices.ContainsFunc(s.words, func(w word) bool {
		return w.role == argument && expands(w.raw, name) && !strings.HasPrefix(w.raw, `"$`) && !strings.HasPrefix(w.raw, `"${`) || w.role == assigned && expands(w.raw, name)
	})
}

// MayBeScript reports whether a file is meant as a batch script, if only by its name or by
// lines with options.
func MayBeScript(name string, data []byte) bool {
	if IsScript(data) {
		return true
	}
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return false
	case ".sbatch", ".slurm", ".sh", ".bash":
		return true
	}
	return isDirective(data) || bytes.Contains(data, []byte("\n"+magic))
}

// IsScript reports whether a text names its interpreter, if behind a byte order mark.
func IsScript(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), []byte("#!"))
}
