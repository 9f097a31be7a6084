package spec

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
)

// unfilledHoles are the holes that make a file a template. Placeholders such as <name> and whole values count only
// where the file has to be right for AWS: other places take any text for an id.
func unfilledHoles(data []byte, aws bool) []hole {
	return slices.DeleteFunc(holes(data), func(h hole) bool { return h.argument || !aws && (h.whole || h.text[0] == '<') })
}

// holeMark stands for each character of a hole while the YAML is parsed.
const holeMark = '\ue000'

// masked is a text that parses as YAML whatever stands in its holes. Words are texts already.
func masked(data []byte, all []hole) []byte {
	var out []byte
	end := 0
	for _, h := range all {
		if h.word {
			continue
		}
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
	for _, h := range all {
		if at[h.text] == nil {
			names = append(names, h.text)
		}
		if line := fmt.Sprint(h.line); !slices.Contains(at[h.text], line) {
			at[h.text] = append(at[h.text], line)
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
		WithHint("%s", templateHint(text.name, all, set))
}

func areNot(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// templateHint says how a template is filled in.
func templateHint(name string, all []hole, set bool) string {
	variable, plain, others := "", "", false // the names of the first ${NAME} and of the first $NAME
	for _, h := range all {
		switch {
		case h.name != "" && variable == "":
			variable = h.name
		case h.name != "":
		case !strings.HasPrefix(h.text, "$") || strings.ContainsAny(h.text, "{("):
			others = true
		case plain == "":
			plain = h.text[1:]
		}
	}
	var hints []string
	switch by := "the environment"; {
	case variable != "":
		if set {
			by = fmt.Sprintf("--set %s=VALUE or the environment", variable)
		}
		hints = append(hints, fmt.Sprintf("%s fills ${%s}", by, variable))
	case plain != "":
		if set {
			by = "--set or the environment"
		}
		hints = append(hints, fmt.Sprintf("write ${%s}, which %s fills", plain, by))
	}
	if variable != "" || plain != "" {
		hints = append(hints, fmt.Sprintf("or fill all variables: envsubst < %s > filled.yaml", name))
	}
	if others {
		hints = append(hints, "muster fills nothing but ${NAME}: use the tool that the template was written for, or an editor")
	}
	return strings.Join(hints, "; ")
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
