package batch

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/muster-hpc/muster/internal/diag"
)

// broken is a place that cannot be read as shell.
type broken struct {
	diag.Place
	message string
	// unfinished says that the text ends in the middle: a quote or a loop is not closed.
	unfinished bool
}

// walker goes through a script in the order in which it runs, and keeps what
// variables hold.
type walker struct {
	script *script
	inner  inner
	env    map[string]value
	// volatile are variables that functions set: they may change at any time.
	volatile map[string]bool
	// allexport is `set -a`.
	allexport bool
	errexit   bool
	pipefail  bool
	bodies    *[]body
	depth     int
	// exports are the names that programs see.
	exports map[string]bool
	// count is how many commands and assignments there are, which bounds the work.
	count *int
}

// body is a function's, which is looked at last.
type body struct {
	name  string
	stmt  *syntax.Stmt
	inner inner
	context
}

// maxDepth bounds bash -c in bash -c, and the nesting of statements; maxCommands
// and maxWords are more than a script has.
const (
	maxDepth    = 200
	maxCommands = 5000
	maxWords    = 50000
)

func newWalker(s *script) *walker {
	return &walker{script: s, env: s.job.variables(), volatile: map[string]bool{}, bodies: &[]body{}, exports: map[string]bool{}, count: new(int)}
}

// text reads a text of shell.
func (w *walker) text(in inner, c context) {
	if in.tooMuch() {
		w.script.tooMuch = true
	}
	if w.depth > maxDepth || w.script.tooMuch {
		w.script.cut = true
		return
	}
	outer := w.inner
	w.inner = in
	w.depth++
	defer func() { w.inner = outer; w.depth-- }()
	p := parse(in.text)
	for _, e := range p.oddities {
		w.script.oddities = append(w.script.oddities, w.brokenAt(e))
	}
	for _, stmt := range p.stmts {
		w.stmt(stmt, c)
	}
	if p.failure != nil && w.script.broken == nil {
		b := w.brokenAt(*p.failure)
		w.script.broken = &b
	}
}

func (w *walker) brokenAt(e misread) broken {
	return broken{Place: w.place(e.at), message: e.text, unfinished: e.unfinished}
}

// functions looks at the bodies of functions, with what variables hold in the end.
func (w *walker) functions() {
	for i := 0; i < len(*w.bodies); i++ {
		b := (*w.bodies)[i]
		w.inner = b.inner
		w.depth = 0
		w.branch(func() { w.stmt(b.stmt, b.context) })
	}
}

func (w *walker) place(p syntax.Pos) diag.Place {
	return w.script.file.place(w.inner.at(int(p.Offset())))
}

// raw is how a node is written.
func (w *walker) raw(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from >= to || to > len(w.inner.text) {
		return ""
	}
	return w.inner.text[from:to]
}

func (w *walker) stmts(all []*syntax.Stmt, c context) {
	for _, s := range all {
		w.stmt(s, c)
	}
}

func (w *walker) stmt(s *syntax.Stmt, c context) {
	if *w.count > maxCommands || w.depth > maxDepth {
		w.script.cut = true
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	for _, comment := range s.Comments {
		w.script.comments = append(w.script.comments, word{value: value{text: comment.Text}, context: c, Place: w.place(comment.Hash)})
	}
	c.background = c.background || s.Background
	c.tested = c.tested || s.Negated
	c.errexit, c.pipefail = w.errexit, w.pipefail
	files := w.redirects(s.Redirs, c)
	run := func() { w.command(s, c, files) }
	if s.Background {
		w.apart(run)
		return
	}
	run()
}

// apart runs something in an environment of its own.
func (w *walker) apart(run func()) {
	before := w.env
	w.env = make(map[string]value, len(before))
	for name, v := range before {
		w.env[name] = v
	}
	run()
	w.env = before
}

// branch runs something that may not happen: what it changes is not known
// afterwards.
func (w *walker) branch(run func()) {
	before := make(map[string]value, len(w.env))
	for name, v := range w.env {
		before[name] = v
	}
	run()
	for name, v := range w.env {
		old, ok := before[name]
		switch {
		case ok && old == v:
		case ok && old.known() && old.text == "" && strings.HasPrefix(v.text, "--auto-resume"):
			w.env[name] = old // an option of SageMaker HyperPod's srun, which AWS's examples set where that is
		default:
			w.env[name] = unknown
		}
	}
}

func (w *walker) command(s *syntax.Stmt, c context, files []word) {
	switch x := s.Cmd.(type) {
	case *syntax.CallExpr:
		w.call(x, s, c, files)
	case *syntax.DeclClause:
		w.declare(x, c)
	case *syntax.BinaryCmd:
		w.binary(x, c)
	case *syntax.Block:
		w.stmts(x.Stmts, c)
	case *syntax.Subshell:
		c.subshell = true
		w.apart(func() { w.stmts(x.Stmts, c) })
	case *syntax.FuncDecl:
		w.function(x, c)
	case *syntax.TimeClause:
		if x.Stmt != nil {
			w.stmt(x.Stmt, c)
		}
	case *syntax.CoprocClause:
		c.background = true
		w.apart(func() { w.stmt(x.Stmt, c) })
	default:
		w.compound(s.Cmd, c)
	}
}

// compound are the statements that decide and repeat.
func (w *walker) compound(cmd syntax.Command, c context) {
	inside := c
	inside.conditional = true
	switch x := cmd.(type) {
	case *syntax.IfClause:
		w.decide(x, c)
	case *syntax.CaseClause:
		w.word(x.Word, c, operand)
		for _, item := range x.Items {
			for _, p := range item.Patterns {
				w.word(p, c, operand)
			}
			one := inside
			one.maybe = true
			w.branch(func() { w.stmts(item.Stmts, one) })
		}
	case *syntax.WhileClause:
		inside.looped = true
		condition := c
		condition.tested, condition.looped = true, true
		w.forget(x)
		w.branch(func() {
			w.stmts(x.Cond, condition)
			w.stmts(x.Do, inside)
		})
	case *syntax.ForClause:
		inside.looped = true
		w.forget(x)
		if items, ok := x.Loop.(*syntax.WordIter); ok {
			for _, i := range items.Items {
				w.word(i, c, listed)
			}
			w.env[items.Name.Value] = unknown
		}
		w.branch(func() { w.stmts(x.Do, inside) })
	case *syntax.TestClause:
		w.operands(x.X, c)
	case *syntax.ArithmCmd, *syntax.LetClause:
		w.forget(cmd)
	}
}

func (w *walker) decide(x *syntax.IfClause, c context) {
	inside, condition := c, c
	inside.conditional, condition.tested = true, true
	inside.maybe, condition.maybe = true, true
	w.stmts(x.Cond, condition)
	w.branch(func() { w.stmts(x.Then, inside) })
	if x.Else != nil {
		w.branch(func() {
			if len(x.Else.Cond) > 0 {
				w.decide(x.Else, inside)
				return
			}
			w.stmts(x.Else.Then, inside)
		})
	}
}

func (w *walker) binary(x *syntax.BinaryCmd, c context) {
	left, right := c, c
	if x.Op == syntax.AndStmt || x.Op == syntax.OrStmt {
		left.tested, right.conditional = true, true
		left.maybe, right.maybe = left.maybe || excused(x), right.maybe || x.Op == syntax.OrStmt || decides(x.X)
		w.stmt(x.X, left)
		w.branch(func() { w.stmt(x.Y, right) })
		return
	}
	left.piped, left.subshell, right.subshell = true, true, true
	w.apart(func() { w.stmt(x.X, left) })
	w.apart(func() { w.stmt(x.Y, right) })
}

// forget makes the variables unknown that a statement sets: it may run again.
func (w *walker) forget(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if name := changed(n); name != "" {
			w.env[name] = unknown
		}
		return true
	})
}

// changed is the variable that a node sets.
func changed(n syntax.Node) string {
	switch n := n.(type) {
	case *syntax.Assign:
		if n.Name != nil && !n.Naked {
			return n.Name.Value
		}
	case *syntax.UnaryArithm:
		return arithmeticName(n.X, n.Op == syntax.Inc || n.Op == syntax.Dec)
	case *syntax.BinaryArithm:
		return arithmeticName(n.X, n.Op >= syntax.Assgn && n.Op <= syntax.ShrAssgn || n.Op == syntax.Assgn)
	case *syntax.WordIter:
		return n.Name.Value
	case *syntax.ParamExp:
		if n.Exp != nil && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			return n.Param.Value
		}
	}
	return ""
}

func arithmeticName(x syntax.ArithmExpr, sets bool) string {
	if word, ok := x.(*syntax.Word); ok && sets {
		return word.Lit()
	}
	return ""
}

func (w *walker) function(x *syntax.FuncDecl, c context) {
	if x.Name == nil {
		return
	}
	w.script.functions = append(w.script.functions, x.Name.Value)
	local := map[string]bool{}
	syntax.Walk(x.Body, func(n syntax.Node) bool {
		if d, ok := n.(*syntax.DeclClause); ok && d.Variant.Value == "local" {
			for _, a := range d.Args {
				if a.Name != nil {
					local[a.Name.Value] = true
				}
			}
		}
		if name := changed(n); name != "" && !local[name] {
			w.volatile[name] = true
		}
		return true
	})
	c.function, c.conditional = x.Name.Value, true
	*w.bodies = append(*w.bodies, body{name: x.Name.Value, stmt: x.Body, inner: w.inner, context: c})
}

// operands are the words of a test.
func (w *walker) operands(x syntax.TestExpr, c context) {
	syntax.Walk(x, func(n syntax.Node) bool {
		if word, ok := n.(*syntax.Word); ok {
			w.word(word, c, operand)
			return false
		}
		return true
	})
}

// redirects are the files that a statement reads and writes.
func (w *walker) redirects(all []*syntax.Redirect, c context) []word {
	var files []word
	for _, r := range all {
		if r.Hdoc != nil {
			files = append(files, w.word(r.Hdoc, c, document))
			continue
		}
		kind := written
		if r.Op == syntax.RdrIn || r.Op == syntax.WordHdoc || r.Op == syntax.DplIn {
			kind = opened
		}
		files = append(files, w.word(r.Word, c, kind))
	}
	return files
}

// word notes a word, and looks at the substitutions in it.
func (w *walker) word(x *syntax.Word, c context, kind role) word {
	w.script.cut = w.script.cut || len(w.script.words) > maxWords
	if x == nil || len(w.script.words) > maxWords {
		return word{value: unknown, context: c, role: kind}
	}
	found := word{value: w.value(x), context: c, Place: w.place(x.Pos()), raw: w.raw(x), role: kind}
	if w.inner.offsets == nil {
		found.start = int(x.Pos().Offset())
	}
	w.script.words = append(w.script.words, found)
	w.substitutions(x, c)
	return found
}

// substitutions walks the commands in a word.
func (w *walker) substitutions(x syntax.Node, c context) {
	c.subshell, c.substituted = true, true
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.apart(func() { w.stmts(n.Stmts, c) })
			return false
		case *syntax.ProcSubst:
			w.apart(func() { w.stmts(n.Stmts, c) })
			return false
		case *syntax.ParamExp:
			if name := changed(n); name != "" {
				w.env[name] = w.parameter(n)
			}
		}
		return true
	})
}
