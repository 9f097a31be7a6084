package batch

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
)

// Option is one of sbatch's options, from a #SBATCH line or from the command
// line, or one of srun's.
type Option struct {
	// Name is the long name, such as "nodes". Of an option that is not known, it
	// is as written.
	Name, Value string
	// Place is where it stands; on the command line it has none.
	Place diag.Place

	// known is nil for an unknown option. short says that it was written as -N.
	known *option
	short bool
	// missing says that it has no value, but needs one; surplus that it has one, but takes none.
	missing, surplus bool
}

// written is the option as its user may have written it.
func (o Option) written() string {
	if o.Value == "" {
		return "--" + o.Name
	}
	return "--" + o.Name + "=" + o.Value
}

// Directives are the options in the #SBATCH lines of a batch script, as far as
// sbatch reads them: up to the first command. A script of several parts
// (hetjob, packjob) has none that we understand.
func Directives(data []byte) []Option {
	all, _ := directives("", data)
	return all
}

func directives(name string, data []byte) (all []Option, parts bool) {
	for n := 1; len(data) > 0 && len(all) < maxOptions; n++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 && trimmed[0] != '#' {
			break
		}
		if !isDirective(line) {
			continue
		}
		words := splitWords(text(line[len(magic):]))
		for i := range words {
			if words[i].text == "hetjob" || words[i].text == "packjob" {
				return nil, true
			}
			words[i].place = diag.Place{File: name, Line: n, Column: words[i].column + utf8.RuneCountInString(magic) + 1, Source: text(line)}
		}
		options, _ := readOptions(words, sbatchOptions())
		all = append(all, options...)
	}
	return all, false
}

// maxOptions is far more than a script has.
const maxOptions = 1000

// magic begins a line with options.
const magic = "#SBATCH"

func isDirective(line []byte) bool {
	args, ok := bytes.CutPrefix(line, []byte(magic))
	return ok && (len(args) == 0 || args[0] == ' ' || args[0] == '\t')
}

// flagsOf are options of sbatch's as the command line has them.
func flagsOf(flags []string) []Option {
	words := make([]optionWord, len(flags))
	for i, f := range flags {
		words[i] = optionWord{text: f}
	}
	all, _ := readOptions(words, sbatchOptions())
	return all
}

// Flags takes what users write as sbatch's options on the command line apart:
// "--nodes=2 --exclusive" are two.
func Flags(texts []string) []string {
	var all []string
	for _, t := range texts {
		for _, w := range splitWords(t) {
			all = append(all, w.text)
		}
	}
	return all
}

// optionWord is a word of a line. column is how many characters stand before it.
type optionWord struct {
	text   string
	column int
	place  diag.Place
}

// readOptions reads "--nodes=4", "--nodes 4", "-N4" and "-N 4", and of short
// options without values several in one word. It stops at the first word that
// is no option, and returns how many it has read. A #SBATCH line is read on:
// sbatch takes each line's options as they come.
func readOptions(words []optionWord, table *optionTable) (all []Option, read int) {
	for i := 0; i < len(words) && len(all) < maxOptions; i++ {
		w := words[i]
		switch {
		case w.text == "--":
			return all, i + 1
		case strings.HasPrefix(w.text, "--"):
			o := table.long(w)
			if o.missing && i+1 < len(words) {
				i++
				o.Value, o.missing = words[i].text, false
			}
			all = append(all, o)
		case len(w.text) > 1 && w.text[0] == '-':
			several := table.short(w)
			if last := &several[len(several)-1]; last.missing && i+1 < len(words) {
				i++
				last.Value, last.missing = words[i].text, false
			}
			all = append(all, several...)
		case table == srunOptions():
			return all, i
		}
	}
	return all, len(words)
}

// long reads --name and --name=value.
func (t *optionTable) long(w optionWord) Option {
	name, value, hasValue := strings.Cut(w.text[2:], "=")
	o := Option{Name: name, Value: value, Place: w.place, known: t.find(name)}
	if o.known != nil {
		o.Name = o.known.name
		o.missing = !hasValue && o.known.takes == required
		o.surplus = hasValue && o.known.takes == nothing
	}
	return o
}

// short reads -N4, -N, and several that take no value.
func (t *optionTable) short(w optionWord) []Option {
	var all []Option
	for i := 1; i < len(w.text); i++ {
		o := Option{Name: w.text[i : i+1], Place: w.place, known: t.letters[w.text[i]], short: true}
		if o.known == nil {
			return append(all, Option{Name: w.text[i:], Place: w.place, short: true})
		}
		o.Name = o.known.name
		if o.known.takes != nothing {
			o.Value = w.text[i+1:]
			o.missing = o.Value == "" && o.known.takes == required
			return append(all, o)
		}
		all = append(all, o)
	}
	return all
}

// splitWords cuts a line at its blanks, as sbatch does: quotes keep a word
// together, a backslash takes the next character as it is, and # starts a
// comment.
func splitWords(line string) []optionWord {
	var words []optionWord
	var now strings.Builder
	var quote rune
	started, escaped, start, n := false, false, 0, -1
	for _, r := range line {
		n++
		switch {
		case escaped:
			now.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
			if !started {
				started, start = true, n
			}
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			now.WriteRune(r)
		case r == ' ' || r == '\t' || r == '\r':
			if started {
				words = append(words, optionWord{text: now.String(), column: start})
			}
			now.Reset()
			started = false
		case r == '#' && !started:
			return words
		default:
			if !started {
				started, start = true, n
			}
			if r == '"' || r == '\'' {
				quote = r
			} else {
				now.WriteRune(r)
			}
		}
	}
	if started {
		words = append(words, optionWord{text: now.String(), column: start})
	}
	return words
}
