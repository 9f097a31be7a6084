package batch

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// directiveRules are about how sbatch's options are written.
func directiveRules(s *script) {
	s.lateDirectives()
	s.misshapen()
	s.unfitWords()
	for _, o := range s.options {
		s.checkOption(o, sbatchOptions())
	}
	for _, c := range s.named("srun") {
		for _, o := range c.options {
			s.checkOption(o, srunOptions())
		}
	}
}

// firstCommand is the line at which sbatch stops to look for options: the first
// that is neither empty nor a comment.
func (s *script) firstCommand() int {
	for n := 1; n <= len(s.file.starts); n++ {
		if line := bytes.TrimSpace(s.file.line(n)); len(line) > 0 && line[0] != '#' {
			return n
		}
	}
	return len(s.file.starts) + 1
}

// lateDirectives finds #SBATCH lines that sbatch does not read (sbatch(1):
// options stand "before any executable commands").
func (s *script) lateDirectives() {
	first := s.firstCommand()
	inText := s.linesInWords()
	for n := first + 1; n <= len(s.file.starts) && len(s.unread) < maxOptions; n++ {
		line := s.file.line(n)
		if s.shell == "" && (bytes.Contains(line, []byte(`"""`)) || bytes.Contains(line, []byte("'''"))) {
			return // what follows may be text
		}
		if isDirective(line) && !inText[n] {
			at := s.file.place(s.file.starts[n-1])
			words, _ := splitWords(text(line[len(magic):]))
			options, _, _ := readOptions(words, sbatchOptions())
			if len(options) == 0 {
				continue // a comment that begins alike
			}
			s.unread = append(s.unread, options...)
			s.errorf("script/late-directive", at, "sbatch does not read this line: the first command, in line %d, ends its options", first).
				WithHint("move it above line %d", first)
		}
	}
}

// linesInWords are lines that begin within a word or a here-document.
func (s *script) linesInWords() map[int]bool {
	lines := map[int]bool{}
	for _, w := range s.words {
		n := strings.Count(w.raw, "\n")
		from := w.Line + 1
		if w.role == document {
			from = w.Line
		}
		for i := from; i <= w.Line+n; i++ {
			lines[i] = true
		}
	}
	if s.blindBelow() {
		s.linesInDocuments(lines)
	}
	return lines
}

// documentStart begins a here-document: <<EOF, <<-'EOF'.
var documentStart = pattern.New(`(?:^|[^<])<<-?[ \t]*(?:\\?(\w+)|"(\w+)"|'(\w+)')`)

// linesInDocuments adds the lines of here-documents where the shell was not read to its
// end, as far as lines alone show them.
func (s *script) linesInDocuments(lines map[int]bool) {
	end := ""
	for n := 1; n <= len(s.file.starts); n++ {
		line := string(s.file.line(n))
		if end != "" {
			lines[n] = true
			if strings.Trim(line, " \t\r") == end {
				end = ""
			}
			continue
		}
		if m := documentStart().FindStringSubmatch(line); m != nil {
			end = m[1] + m[2] + m[3]
		}
	}
}

// Lines that look like options, and are comments for sbatch.
var almostDirective = pattern.New(`^(?:[ \t]+#SBATCH[ \t]+-|#[ \t]+SBATCH[ \t]+-|#(?i:sbatch)[ \t]+-)`)

func (s *script) misshapen() {
	for n, first := 1, s.firstCommand(); n < min(first, maxOptions); n++ {
		line := s.file.line(n)
		if isDirective(line) || !almostDirective().Match(line) {
			continue
		}
		at := s.file.place(s.file.starts[n-1])
		s.warnf("script/directive-form", at, "sbatch takes this line for a comment").
			WithHint("begin the line with #SBATCH and a blank; ##SBATCH says that it is meant so")
	}
}

// unfitWords reports words that no option takes: sbatch refuses the whole script. Behind
// an option that is wrong itself, or behind the first such word of a line, it is no news.
func (s *script) unfitWords() {
	last := 0
	for _, w := range s.unfit {
		if w.place.Line == last {
			continue
		}
		last = w.place.Line
		if w.fault != "" {
			s.errorf("script/option", w.place, "%s: sbatch refuses the script", w.fault)
			continue
		}
		if slices.ContainsFunc(s.directives, func(o Option) bool {
			return o.Place.Line == w.place.Line && (o.known == nil || o.empty() && !o.emptied())
		}) {
			continue
		}
		s.errorf("script/option", w.place, "no option takes %q: sbatch refuses the script", w.text).
			WithHint("put a value of several words in quotation marks, and # before a comment")
	}
}

// checkOption looks at one option of sbatch's or srun's.
func (s *script) checkOption(o Option, table *optionTable) {
	whose := "sbatch"
	if table == srunOptions() {
		whose = "srun"
	}
	switch {
	case strings.ContainsRune(o.Name, hole):
	case o.known == nil:
		s.noOption(o, whose)
	case !o.known.in(s.slurm()):
		s.otherVersion(o, whose)
	case o.emptied():
	case o.empty():
		s.errorf("script/option", o.Place, "--%s has no value", o.Name).
			WithHint("write the value right behind it, as in --%s=VALUE, without blanks", o.Name)
	case o.surplus, o.Value != "" && o.known.bareIn(s.slurm()):
		s.errorf("script/option", s.at(o), "--%s takes no value", o.Name).WithHint("--%s", o.Name)
	default:
		if whose == "sbatch" && o.Place.Line > 0 {
			s.expanded(o)
		}
		if whose == "srun" || !slices.Contains(lateOptions(), o.Name) {
			s.checkValue(o)
		}
	}
}

func (s *script) noOption(o Option, whose string) {
	dashes := "--"
	if o.short {
		dashes = "-"
	}
	d := s.errorf("script/option", o.Place, "%s%s is no option of %s", dashes, o.Name, whose)
	other := srunOptions()
	if whose == "srun" {
		other = sbatchOptions()
	}
	if o.short {
		return
	}
	if other.names[o.Name] != nil {
		d.WithHint("%s has it; it has no meaning here", map[string]string{"sbatch": "srun", "srun": "sbatch"}[whose])
		return
	}
	if near := nearestOption(o.Name, whose); near != "" {
		d.WithHint("did you mean --%s?", near)
	}
}

// otherVersion reports an option that none of the cluster's versions of Slurm has.
func (s *script) otherVersion(o Option, whose string) {
	spans := make([]string, len(o.known.versions))
	for i, v := range o.known.versions {
		spans[i] = v.String()
	}
	s.errorf("script/option", s.at(o), "--%s is no option of %s of Slurm %s: it is one of Slurm %s", o.Name, whose, s.slurm(), strings.Join(spans, " and ")).
		WithHint("remove it")
}

// slurm are the versions that the cluster may have.
func (s *script) slurm() Versions {
	if s.facts == nil {
		return Versions{}
	}
	return s.facts.Slurm
}

// nearestOption is the option that was meant.
func nearestOption(name, whose string) string {
	table := sbatchOptions()
	if whose == "srun" {
		table = srunOptions()
	}
	name = strings.ReplaceAll(name, "_", "-")
	if table.names[name] != nil {
		return name
	}
	return diag.Nearest(name, table.sorted())
}

// expanded finds what a shell would expand: sbatch takes it as it stands in a #SBATCH line.
func (s *script) expanded(o Option) {
	i := strings.IndexAny(o.Value, "$`")
	home := strings.HasPrefix(o.Value, "~/")
	if o.Name == "comment" || o.Name == "wrap" || i < 0 && !home || i == len(o.Value)-1 && !home {
		return
	}
	what := "~"
	if !home {
		what = o.Value[i:]
		if strings.HasPrefix(what, "$(") || what[0] == '`' {
			what = "a command's output"
		} else if end := strings.IndexFunc(what[1:], func(r rune) bool { return !isNameRune(r) }); end >= 0 && what[1] != '{' {
			what = what[:end+1]
		}
	}
	at := o.Place
	if c := strings.Index(at.Source, what); c >= 0 {
		at.Column = utf8.RuneCountInString(at.Source[:c]) + 1
	}
	var d *diag.Diagnostic
	if takesAnyText(o) {
		d = s.warnf("script/option-variable", at, "no shell reads #SBATCH lines, so %s stays as it is", what)
	} else {
		d = s.errorf("script/option-variable", at, "no shell reads #SBATCH lines, so %s stays as it is", what)
	}
	switch o.Name {
	case "output", "error", "input":
		d.WithHint("write the path; %%j is the job's ID, %%x its name, %%u the user; or give --%s on the command line", o.Name)
	default:
		d.WithHint("write the value, or give --%s on the command line", o.Name)
	}
}

// takesAnyText tells whether a job runs all the same where the value of an option is not
// what was meant: its name, or the name of a file in a directory that is there.
func takesAnyText(o Option) bool {
	switch o.Name {
	case "job-name", "mail-user", "wckey", "admin-comment":
		return true
	case "output", "error":
		return !strings.ContainsAny(o.Value[:strings.LastIndexByte(o.Value, '/')+1], "$`~")
	}
	return false
}

func isNameRune(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
