package batch

import (
	"strconv"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// hole stands in a value's text for a part that only a run can know.
const hole = '\uE000'

// value is what a word of the shell is when the script runs, as far as that is
// known.
type value struct {
	// text has a hole for each part that is not known.
	text string
	// assumed says that the text is a default, as in ${NODES:-2}: the environment
	// of the submission may have another.
	assumed bool
	// array has the elements of a variable that is an array, if they are known; its text
	// is not.
	array *array
}

// known tells whether the text is whole, and the same in every environment.
func (v value) known() bool { return !v.assumed && v.whole() }

// whole tells whether the text has no holes. It may be a default.
func (v value) whole() bool { return !strings.ContainsRune(v.text, hole) }

// is tells whether the value is known to be one of some texts.
func (v value) is(texts ...string) bool {
	for _, t := range texts {
		if v.known() && v.text == t {
			return true
		}
	}
	return false
}

// number is the value as a whole number, if it is known to be one.
func (v value) number() (int, bool) {
	if !v.known() {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(v.text))
	return n, err == nil
}

// shown is the text for people: "…" stands for holes.
func (v value) shown() string { return strings.ReplaceAll(v.text, string(hole), "…") }

var unknown = value{text: string(hole)}

// maxValue bounds values: a variable may hold itself many times.
const maxValue = 1 << 14

// join puts values together to a text.
func join(parts ...value) value {
	if len(parts) == 1 && len(parts[0].text) <= maxValue {
		return value{text: parts[0].text, assumed: parts[0].assumed}
	}
	var b strings.Builder
	all := value{}
	for _, p := range parts {
		b.WriteString(p.text)
		all.assumed = all.assumed || p.assumed
		if b.Len() > maxValue {
			return unknown
		}
	}
	all.text = b.String()
	return all
}

// value is what a word stands for. A nil word is empty.
func (w *walker) value(word *syntax.Word) value {
	if word == nil {
		return value{}
	}
	parts := make([]value, 0, len(word.Parts))
	for i, p := range word.Parts {
		lit, ok := p.(*syntax.Lit)
		if ok && i == 0 && strings.HasPrefix(lit.Value, "~") {
			parts = append(parts, w.home(lit.Value))
			continue
		}
		parts = append(parts, w.part(p, false))
	}
	return join(parts...)
}

// home is a text that begins with a tilde.
func (w *walker) home(text string) value {
	user, rest, slash := strings.Cut(text[1:], "/")
	if slash {
		rest = "/" + rest
	}
	if user == "" {
		return join(w.lookup("HOME"), value{text: unescape(rest, false)})
	}
	return join(value{text: "/home/" + user + string(hole)}, value{text: unescape(rest, false)})
}

func (w *walker) part(p syntax.WordPart, quoted bool) value {
	switch p := p.(type) {
	case *syntax.Lit:
		return value{text: unescape(p.Value, quoted)}
	case *syntax.SglQuoted:
		if p.Dollar && strings.Contains(p.Value, `\`) {
			return unknown
		}
		return value{text: p.Value}
	case *syntax.DblQuoted:
		parts := make([]value, 0, len(p.Parts))
		for _, q := range p.Parts {
			parts = append(parts, w.part(q, true))
		}
		return join(parts...)
	case *syntax.ParamExp:
		return w.parameter(p)
	case *syntax.ArithmExp:
		if n, ok := w.arithmetic(p.X, 0); ok {
			return value{text: strconv.Itoa(n)}
		}
	}
	return unknown
}

// unescape takes backslashes away as the shell does.
func unescape(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		next := text[i+1]
		if quoted && !strings.ContainsRune("$`\"\\\n", rune(next)) {
			b.WriteByte('\\')
			continue
		}
		if i++; next != '\n' {
			b.WriteByte(next)
		}
	}
	return b.String()
}

// parameter is the value of $NAME, ${NAME} and ${NAME:-default}.
func (w *walker) parameter(p *syntax.ParamExp) value {
	if p.Index != nil {
		return w.joined(p)
	}
	if p.Param == nil || p.Excl || p.Length || p.Width || p.Slice != nil || p.Repl != nil || p.Names != 0 {
		return unknown
	}
	have, set := w.env[p.Param.Value]
	if p.Exp == nil {
		return w.lookup(p.Param.Value)
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if set && have.text != "" {
			return join(have)
		}
		byDefault := w.value(p.Exp.Word)
		byDefault.assumed = !set || byDefault.assumed
		return byDefault
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return w.lookup(p.Param.Value)
	}
	return unknown
}

// lookup is a variable's value. What the script does not set, the environment
// may.
func (w *walker) lookup(name string) value {
	if v, ok := w.env[name]; ok && !w.volatile[name] {
		return join(v)
	}
	if name == "HOME" {
		return value{text: "/home/" + string(hole)}
	}
	return unknown
}

// maxArithmetic bounds the depth of expressions.
const maxArithmetic = 100

// arithmetic works an expression out if all in it is known.
func (w *walker) arithmetic(x syntax.ArithmExpr, depth int) (int, bool) {
	if depth > maxArithmetic {
		return 0, false
	}
	switch x := x.(type) {
	case *syntax.ParenArithm:
		return w.arithmetic(x.X, depth+1)
	case *syntax.Word:
		v := w.value(x)
		if v.text != "" && unicode.IsLetter(rune(v.text[0])) {
			v = w.lookup(v.text)
		}
		return v.number()
	case *syntax.BinaryArithm:
		a, known := w.arithmetic(x.X, depth+1)
		b, also := w.arithmetic(x.Y, depth+1)
		if !known || !also {
			return 0, false
		}
		return calculate(x.Op, a, b)
	}
	return 0, false
}

// maxNumber keeps calculations from overflowing.
const maxNumber = 1 << 31

func calculate(op syntax.BinAritOperator, a, b int) (int, bool) {
	if a > maxNumber || b > maxNumber || a < -maxNumber || b < -maxNumber {
		return 0, false
	}
	switch op {
	case syntax.Add:
		return a + b, true
	case syntax.Sub:
		return a - b, true
	case syntax.Mul:
		return a * b, true
	case syntax.Quo:
		if b != 0 {
			return a / b, true
		}
	case syntax.Rem:
		if b != 0 {
			return a % b, true
		}
	}
	return 0, false
}
