package spec

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
)

// hole is a part of a cluster file that is to be replaced before the file is used.
type hole struct {
	line, start, end int // bytes of the whole text
	text             string
	// name is a variable's; empty is a placeholder that muster cannot fill.
	name string
	// argument reports that it stands in Args, where it may as well be meant for the script.
	argument bool
}

var (
	// holeForms are ${NAME}, {{ name }}, {% if %} and <name>. CloudFormation resolves {{resolve:...}} itself.
	holeForms   = lazyRegexp(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\{\{[^{}]*\}\}|\{%.*?%\}|<[A-Za-z][A-Za-z0-9 _.-]*>`)
	angleBefore = lazyRegexp(`(^\s*|[:-]\s+|[\[,]\s*)["']?$|[-/:_.=]$`)
	angleAfter  = lazyRegexp(`^(["']?\s*($|[,\]]|\s#)|[-/:_.=])`)
	argsKey     = lazyRegexp(`^[ -]*["']?Args["']?\s*:`)
)

func lazyRegexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// holes finds what is to be replaced, comments left out.
func holes(data []byte) []hole {
	if len(data) > maxBytes || !bytes.ContainsAny(data, "{<") {
		return nil
	}
	var found []hole
	start, number, args := 0, 0, -1
	for line := range bytes.Lines(data) {
		number++
		text := withoutComment(strings.TrimRight(string(line), "\r\n"))
		args = argsColumn(args, text)
		for _, at := range holeForms().FindAllStringSubmatchIndex(text, -1) {
			h := hole{line: number, start: start + at[0], end: start + at[1], text: text[at[0]:at[1]], argument: args >= 0}
			if at[2] >= 0 {
				h.name = text[at[2]:at[3]]
			}
			if h.name != "" || stands(text, at[0], at[1]) {
				found = append(found, h)
			}
		}
		start += len(line)
	}
	return found
}

// stands reports whether a text in braces or angle brackets is a placeholder at its place.
func stands(line string, start, end int) bool {
	if line[start] == '<' {
		return angleBefore().MatchString(line[:start]) && angleAfter().MatchString(line[end:])
	}
	return !strings.HasPrefix(line[start:], "{{resolve:")
}

// argsColumn returns the column of the key Args that a line belongs to, -1 for none, given that of the line before.
func argsColumn(before int, line string) int {
	content := strings.TrimLeft(line, " ")
	if content == "" {
		return before
	}
	if argsKey().MatchString(line) {
		return strings.Index(line, "Args")
	}
	indent := len(line) - len(content)
	if before >= 0 && (indent > before || indent == before && strings.HasPrefix(content, "-")) {
		return before
	}
	return -1
}

// withoutComment cuts a YAML line before its comment.
func withoutComment(line string) string {
	var quote byte
	for i := range len(line) {
		b, first := line[i], i == 0 || strings.IndexByte(" \t[{,", line[i-1]) >= 0
		switch {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case (b == '"' || b == '\'') && first:
			quote = b
		case b == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return line[:i]
		}
	}
	return line
}

// unfilledHoles are the holes that make a file a template. Placeholders such as <name> count only
// where the file has to be right for AWS: other places take any text for an id.
func unfilledHoles(data []byte, aws bool) []hole {
	return slices.DeleteFunc(holes(data), func(h hole) bool { return h.argument || !aws && h.text[0] == '<' })
}

// holeMark stands for each character of a hole while the YAML is parsed.
const holeMark = '\ue000'

// masked is a text that parses as YAML whatever stands in its holes.
func masked(data []byte, all []hole) []byte {
	var out []byte
	end := 0
	for _, h := range all {
		out = append(out, data[end:h.start]...)
		out = append(out, strings.Repeat(string(holeMark), utf8.RuneCountInString(h.text))...)
		end = h.end
	}
	return append(out, data[end:]...)
}

// Template reports as one error that a cluster file, read for any place, is a template that is not filled in. The command may have --set.
func Template(name string, data []byte, set bool) *diag.List {
	list := &diag.List{}
	if all := unfilledHoles(data, false); len(all) > 0 {
		reportTemplate(list, &lines{name: name, data: data}, all, set)
	}
	return list
}

func reportTemplate(list *diag.List, text *lines, all []hole, set bool) {
	var names []string
	at := map[string][]string{}
	variable, others := "", false
	for _, h := range all {
		if at[h.text] == nil {
			names = append(names, h.text)
		}
		if line := fmt.Sprint(h.line); !slices.Contains(at[h.text], line) {
			at[h.text] = append(at[h.text], line)
		}
		if h.name == "" {
			others = true
		} else if variable == "" {
			variable = h.name
		}
	}
	for i, n := range names {
		word := "line "
		if len(at[n]) > 1 {
			word = "lines "
		}
		names[i] = n + " (" + word + strings.Join(at[n], ", ") + ")"
	}
	list.Errorf("file/template", "", "this file is a template: %s not filled in", areNot(names)).At(text.atByte(all[0].start)).
		WithHint("%s", templateHint(text.name, variable, others, set))
}

func areNot(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// templateHint says how a template is filled in; variable is the name of one of its variables.
func templateHint(name, variable string, others, set bool) string {
	const byHand = "muster does not fill {{ }}, {% %} and < >: use the tool that the template was written for, or an editor"
	if variable == "" {
		return byHand
	}
	by := "the environment"
	if set {
		by = fmt.Sprintf("--set %s=VALUE or the environment", variable)
	}
	hint := fmt.Sprintf("%s fills ${%s}; or fill all variables: envsubst < %s > filled.yaml", by, variable, name)
	if others {
		hint += "; " + byHand
	}
	return hint
}

// Variables are the values for the ${NAME} of cluster files.
type Variables struct {
	// Set are those that the user gave for this run. They win, and they alone are used in Args,
	// whose ${NAME} may be meant for the script.
	Set map[string]string
	// Environment looks up all others. An empty value counts as none.
	Environment func(name string) (string, bool)

	used map[string]bool
}

// Fill puts the values into a text. What has none stays, see Template. A value of several lines is an error.
func (v *Variables) Fill(name string, data []byte) ([]byte, *diag.List) {
	list := &diag.List{}
	text := lines{name: name, data: data}
	var out []byte
	end := 0
	for _, h := range holes(data) {
		value, ok := v.value(h)
		if !ok {
			continue
		}
		if i, _ := firstBad([]byte(value)); i >= 0 || strings.ContainsAny(value, "\r\n") {
			list.Errorf("file/variable", "", "the value of %s is not one line of text", h.text).At(text.atByte(h.start)).
				WithHint("give it another value: --set %s=VALUE", h.name)
			continue
		}
		out = append(append(out, data[end:h.start]...), value...)
		end = h.end
	}
	return append(out, data[end:]...), list
}

func (v *Variables) value(h hole) (string, bool) {
	if value, ok := v.Set[h.name]; ok {
		if v.used == nil {
			v.used = map[string]bool{}
		}
		v.used[h.name] = true
		return value, true
	}
	if h.name == "" || h.argument || v.Environment == nil {
		return "", false
	}
	value, ok := v.Environment(h.name)
	return value, ok && value != ""
}

// Unused are the names in Set that no file had so far.
func (v *Variables) Unused() []string {
	var names []string
	for name := range v.Set {
		if !v.used[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
