package policy

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/shell"
)

// magic begins a line with options.
const magic = "#MUSTER"

// maxOptions is far more than a script has.
const maxOptions = 1000

// IsLine tells whether a line of a script has options.
func IsLine(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte(magic))
	return ok && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r"))
}

// Script is what a batch script wishes.
type Script struct {
	// Asked says that there is a line for muster, be it without an option.
	Asked  bool
	Policy Policy
	// Problems stand in the script. Options with problems are left out.
	Problems *diag.List
}

// Read reads the lines of a batch script that are for muster, up to its first command. The name
// is the one that problems stand under.
func Read(name string, script []byte) Script {
	r := reader{policy: Default(), list: &diag.List{}}
	asked := false
	for n := 1; len(script) > 0; n++ {
		line, rest, _ := bytes.Cut(script, []byte("\n"))
		script = rest
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' {
			break
		}
		if IsLine(line) {
			asked = true
			r.line(diag.Place{File: name, Line: n, Source: strings.ToValidUTF8(string(bytes.TrimRight(line, "\r")), "\uFFFD")})
		}
	}
	return Script{Asked: asked, Policy: r.policy, Problems: r.list}
}

// With are the wishes with those of a command line, which win. Words have problems without a
// place, and are left out then.
func (p Policy) With(words []string) (Policy, *diag.List) {
	r := reader{policy: p, list: &diag.List{}}
	given := make([]placed, len(words))
	for i, w := range words {
		given[i].text = w
	}
	r.words(given)
	return r.policy, r.list
}

// placed is a word with its place.
type placed struct {
	text string
	at   diag.Place
}

type reader struct {
	policy Policy
	list   *diag.List
	count  int
	// fresh says that directories of checkpoints were named here, which are all that count then.
	fresh bool
	// full says that it was told that there are too many of them.
	full bool
}

// line reads the options of a line.
func (r *reader) line(at diag.Place) {
	from := utf8.RuneCountInString(magic) + 1
	words, err := shell.Split(strings.TrimPrefix(at.Source, magic))
	given := make([]placed, len(words))
	for i, w := range words {
		given[i] = placed{w.Text, at}
		given[i].at.Column = w.Column + from
	}
	if odd, ok := errors.AsType[*shell.SplitError](err); ok {
		given = whole(given)
		at.Column = odd.Column + from
		r.list.Errorf("script/muster-option", "", "this line cannot be read: %s", odd.Text).At(at).
			WithHint("put the value in single quotes, as in --log-pattern='...'")
	}
	r.words(given)
}

// whole are the words without an option at their end whose value may go on in what was not read.
func whole(words []placed) []placed {
	if n := len(words); n > 0 {
		name, _, _ := strings.Cut(strings.TrimPrefix(words[n-1].text, "--"), "=")
		if o, ok := option(name); ok && o.Value != "" {
			return words[:n-1]
		}
	}
	return words
}

// words reads "--name=value", "--name value" and "--name".
func (r *reader) words(words []placed) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if r.count++; r.count > maxOptions {
			if r.count == maxOptions+1 {
				r.list.Errorf("script/muster-option", "", "there are more than %d options; those from here on are not read", maxOptions).At(w.at)
			}
			return
		}
		name, dashed := strings.CutPrefix(w.text, "--")
		if !dashed {
			r.list.Errorf("script/muster-option", "", "%q is no option", w.text).At(w.at).
				WithHint("options are written as --checkpoints=DIR")
			continue
		}
		name, value, has := strings.Cut(name, "=")
		o, ok := option(name)
		if ok && o.Value != "" && !has && i+1 < len(words) && !strings.HasPrefix(words[i+1].text, "--") {
			i++
			value, has = words[i].text, true
		}
		r.take(o, ok, placed{name, w.at}, value, has)
	}
}

// take reads one option.
func (r *reader) take(o Option, known bool, name placed, value string, has bool) {
	switch {
	case !known:
		r.unknown(name)
	case o.Value == "" && has:
		r.list.Errorf("script/muster-option", "", "--%s takes no value", o.Name).At(name.at).WithHint("--%s", o.Name)
	case o.Value != "" && value == "":
		r.list.Errorf("script/muster-option", "", "--%s has no value", o.Name).At(name.at).WithHint("--%s=%s", o.Name, o.Value)
	default:
		r.set(o, name, value)
	}
}

func (r *reader) unknown(name placed) {
	d := r.list.Errorf("script/muster-option", "", "--%s is no option of a job's policy", name.text).At(name.at)
	var names []string
	for _, o := range Options() {
		names = append(names, o.Name)
	}
	if near := diag.Nearest(name.text, names); near != "" {
		d.WithHint("did you mean --%s?", near)
		return
	}
	d.WithHint("there are --%s", strings.Join(names, ", --"))
}

func (r *reader) set(o Option, name placed, value string) {
	if o.Many && !r.fresh {
		r.fresh, r.policy.Checkpoints = true, nil
	}
	refused := o.set(&r.policy, value)
	if refused == nil || refused == tooMany && r.full {
		return
	}
	r.full = r.full || refused == tooMany
	d := r.list.Errorf("script/muster-option", "", "--%s is %q, which %s", o.Name, value, refused.which).At(name.at)
	if refused.hint != "" {
		d.WithHint("%s", refused.hint)
	}
}
