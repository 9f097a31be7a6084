package batch

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// parsed is a text of shell as statements, those before the first place that the parser
// cannot read.
type parsed struct {
	stmts []*syntax.Stmt
	// failure ends the statements; nil means that all was read.
	failure *misread
	// oddities are places that bash reads, and fails at when it gets there, or warns of.
	oddities []misread
}

// misread is a place that the parser cannot read, and why. unfinished says that the text
// ends in the middle.
type misread struct {
	at         syntax.Pos
	text       string
	unfinished bool
}

// misreadOf is what an error of the parser says: of a language other than bash it has a
// type of its own.
func misreadOf(err error) misread {
	if e, ok := errors.AsType[syntax.ParseError](err); ok {
		return misread{at: e.Pos, text: e.Text, unfinished: e.Incomplete}
	}
	if e, ok := errors.AsType[syntax.LangError](err); ok {
		return misread{at: e.Pos, text: e.Feature + " is not in bash"}
	}
	return misread{text: err.Error()}
}

// The parser (mvdan.cc/sh) refuses some texts that bash reads. Each is parsed again with
// one byte changed, and the byte put back into the words. maxRepairs and maxReparsed
// bound how often, and how much text.
const (
	maxRepairs  = 400
	maxReparsed = 1 << 23
)

// parse reads a text of shell.
func parse(text string) parsed {
	var p parsed
	work := []byte(text)
	for range min(maxRepairs, maxReparsed/max(len(text), 1)+1) {
		p.stmts, p.failure = statements(string(work))
		if p.failure == nil {
			break
		}
		fix, ok := repairOf(work, *p.failure)
		if !ok {
			break
		}
		if fix.odd {
			p.oddities = append(p.oddities, *p.failure)
		}
		if fix.end != "" {
			work = append(work, fix.end...)
			continue
		}
		work[fix.at] = fix.with
	}
	if string(work) != text {
		restore(p.stmts, text)
	}
	return p
}

// statements parses a text up to what cannot be read.
func statements(text string) (all []*syntax.Stmt, failure *misread) {
	parser := syntax.NewParser(syntax.KeepComments(true), syntax.Variant(syntax.LangBash))
	for stmt, err := range parser.StmtsSeq(strings.NewReader(text)) {
		if err == nil {
			all = append(all, stmt)
			continue // the sequence may go on once more, and must not be left before
		}
		if failure == nil {
			found := misreadOf(err)
			failure = &found
		}
	}
	return all, failure
}

// repair is a byte that is another for the parser, or an end that is missing. odd says
// that bash will stumble here, too, when it runs.
type repair struct {
	at   int
	with byte
	end  string
	odd  bool
}

// quiet stands for a byte that the parser would take for more than a letter.
const quiet = '_'

// repairOf is what has the parser read on, if it is a place that bash reads:
//   - elements of an array such as "A"=$B, a = b and [0]*3, which bash takes for words
//   - a.b in the index of an associative array; in arithmetic, bash fails when it runs
//   - ${a.b} and ${{ a }}, at which bash fails when it runs
//   - a here-document that ends with the file
func repairOf(text []byte, e misread) (repair, bool) {
	at := int(e.at.Offset())
	if m := openDocument().FindStringSubmatch(e.text); m != nil {
		return repair{end: "\n" + m[1] + "\n", odd: true}, true
	}
	if at >= len(text) {
		return repair{}, false
	}
	switch was := text[at]; {
	case strings.HasPrefix(e.text, "array element values must be words") && was == '=',
		strings.HasPrefix(e.text, "`[x]` must be followed by") && was == '[':
		return repair{at: at, with: quiet}, true
	case strings.HasPrefix(e.text, "`[` must follow a name") && at > 0 && text[at-1] == '[': // [[:alpha:]]
		return repair{at: at - 1, with: quiet}, true
	case strings.HasPrefix(e.text, "floating point arithmetic"):
		return pointIn(text, at)
	case strings.HasPrefix(e.text, "not a valid parameter expansion operator") && was == '.':
		return repair{at: at, with: quiet, odd: true}, true
	case strings.HasPrefix(e.text, "invalid parameter name") && was == '{' && at > 1 && text[at-2] == '$':
		return repair{at: at - 2, with: quiet, odd: true}, true
	}
	return repair{}, false
}

var openDocument = pattern.New("^unclosed here-document `([^`\n]+)`$")

// pointIn takes the point of a number or of an index away.
func pointIn(text []byte, at int) (repair, bool) {
	for i := at; i < len(text) && text[i] != '\n'; i++ {
		if text[i] == '.' {
			line := text[strings.LastIndexByte(string(text[:at]), '\n')+1 : at]
			return repair{at: i, with: quiet, odd: strings.Contains(string(line), "((")}, true
		}
	}
	return repair{}, false
}

// restore puts the bytes of a text back into the words that were parsed from another.
func restore(stmts []*syntax.Stmt, text string) {
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			if lit, ok := n.(*syntax.Lit); ok {
				from, to := int(lit.Pos().Offset()), int(lit.End().Offset())
				if to <= len(text) && to-from == len(lit.Value) {
					lit.Value = text[from:to]
				}
			}
			return true
		})
	}
}
