package batch

import (
	"bytes"
	"strings"
	"unicode"
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

// empty tells whether an option that needs a value has none; --time = 1:00 has "=".
func (o Option) empty() bool {
	return o.missing || o.Value == "" && o.known != nil && o.known.takes == required || o.Value == "="
}

// Directives are the options in the #SBATCH lines of a batch script, as far as
// sbatch reads them: up to the first command. A script of several parts
// (hetjob, packjob) has none that we understand.
func Directives(data []byte) []Option {
	all, _, _ := directives("", data)
	return all
}

// directives reads the #SBATCH lines. unfit are the words that no option takes and the
// lines that sbatch cannot cut into words, which it refuses (get_argument in Slurm's
// src/sbatch/opt.c). To sbatch all lines are one: a value may stand in the next.
func directives(name string, data []byte) (all []Option, unfit []unfitWord, parts bool) {
	var words []optionWord
	for n := 1; len(data) > 0 && len(words) < maxOptions; n++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 && trimmed[0] != '#' {
			break
		}
		if !isDirective(line) {
			continue
		}
		found, fault := splitWords(text(line[len(magic):]))
		for _, w := range found {
			if w.text == "hetjob" || w.text == "packjob" {
				return nil, nil, true
			}
			w.place = diag.Place{File: name, Line: n, Column: w.column + utf8.RuneCountInString(magic) + 1, Source: text(line)}
			words = append(words, w)
		}
		if fault != "" {
			unfit = append(unfit, unfitWord{fault: fault, place: diag.Place{File: name, Line: n, Column: 1, Source: text(line)}})
		}
	}
	options, stray, _ := readOptions(words, sbatchOptions())
	for _, w := range stray {
		unfit = append(unfit, unfitWord{text: w.text, place: w.place})
	}
	return options, unfit, false
}

// unfitWord is a word that no option takes, or a line with a fault.
type unfitWord struct {
	text, fault string
	place       diag.Place
}

// maxOptions is far more than a script has.
const maxOptions = 1000

// magic begins a line with options; sbatch asks for no blank behind it.
const magic = "#SBATCH"

func isDirective(line []byte) bool { return bytes.HasPrefix(line, []byte(magic)) }

// flagsOf are options of sbatch's as the command line has them.
func flagsOf(flags []string) []Option {
	words := make([]optionWord, len(flags))
	for i, f := range flags {
		words[i] = optionWord{text: f}
	}
	all, _, _ := readOptions(words, sbatchOptions())
	return all
}

// Flags takes what users write as sbatch's options on the command line apart:
// "--nodes=2 --exclusive" are two.
func Flags(texts []string) []string {
	var all []string
	for _, t := range texts {
		words, _ := splitWords(t)
		for _, w := range words {
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
// options without values several in one word. srun's end at the first word that
// is no option, which is read then; sbatch's go on, and stray are the words that
// no option takes.
func readOptions(words []optionWord, table *optionTable) (all []Option, stray []optionWord, read int) {
	for i := 0; i < len(words) && len(all) < maxOptions; i++ {
		var found []Option
		switch w := words[i]; {
		case w.text == "--":
			return all, append(stray, words[i+1:]...), i + 1
		case strings.HasPrefix(w.text, "--"):
			found = []Option{table.long(w)}
		case len(w.text) > 1 && w.text[0] == '-':
			found = table.short(w)
		case table == srunOptions():
			return all, nil, i
		default:
			stray = append(stray, w)
			continue
		}
		if last := &found[len(found)-1]; last.missing && i+1 < len(words) && words[i].serves(words[i+1]) {
			i++
			last.Value, last.missing = words[i].text, false
		}
		all = append(all, found...)
	}
	return all, stray, len(words)
}

// takesNext reports whether a word is an option whose value is the next word.
func (t *optionTable) takesNext(w optionWord) bool {
	var found []Option
	switch {
	case strings.HasPrefix(w.text, "--"):
		found = []Option{t.long(w)}
	case strings.HasPrefix(w.text, "-"):
		found = t.short(w)
	}
	return len(found) > 0 && found[len(found)-1].missing
}

// serves tells whether an option takes the next word as its value. sbatch also takes the
// first option of the next line, which nobody means.
func (w optionWord) serves(next optionWord) bool {
	return w.place.Line == next.place.Line || !strings.HasPrefix(next.text, "-")
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
// together, a backslash takes the next character as it is, and # begins a
// comment, in the middle of a word, too. An empty word ends the line. fault is why
// sbatch does not read the line.
func splitWords(line string) (words []optionWord, fault string) {
	runes := []rune(line)
	for i := 0; ; {
		for i < len(runes) && unicode.IsSpace(runes[i]) {
			i++
		}
		if i < len(runes) && runes[i] == ':' {
			return words, "a word begins with a colon"
		}
		text, n, open := nextWord(runes[i:])
		if open != 0 {
			return words, "the quotation mark " + string(open) + " is not closed"
		}
		if text == "" {
			return words, ""
		}
		words = append(words, optionWord{text: text, column: i})
		i += n
	}
}

// nextWord reads one word, and how many characters it has in the line. open is a
// quotation mark that is not closed.
func nextWord(runes []rune) (word string, n int, open rune) {
	var now strings.Builder
	var quote rune
	for ; n < len(runes) && (quote != 0 || !unicode.IsSpace(runes[n])); n++ {
		switch r := runes[n]; {
		case r == '\\':
			if n++; n < len(runes) {
				now.WriteRune(runes[n])
			}
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			now.WriteRune(r)
		case r == '"' || r == '\'':
			quote = r
		case r == '#':
			return now.String(), n, 0
		default:
			now.WriteRune(r)
		}
	}
	return now.String(), min(n, len(runes)), quote
}
