package house

import (
	"go/ast"
	"go/build/constraint"
	"regexp"
	"slices"
	"strings"
)

// calls are the places that name a function of a package.
func (s source) calls(name string, functions ...string) []string {
	var places []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && slices.Contains(functions, sel.Sel.Name) {
			places = append(places, s.set.Position(sel.Pos()).String())
		}
		return true
	})
	return places
}

// begins tells whether a process starts in the file: it has a program's main.
func (s source) begins() bool {
	return s.file.Name.Name == "main" && slices.ContainsFunc(s.file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && f.Name.Name == "main"
	})
}

// tests are the names of a file's tests, fuzzers and examples.
func (s source) tests() []string {
	var names []string
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && s.test && f.Recv == nil && goTests.MatchString(f.Name.Name) {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

var unfinishedWords = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)

// unfinished are the comments that put something off.
func (s source) unfinished() []string {
	var places []string
	for _, g := range s.file.Comments {
		if unfinishedWords.MatchString(g.Text()) {
			places = append(places, s.set.Position(g.Pos()).String())
		}
	}
	return places
}

func (s source) initialises() bool {
	return slices.ContainsFunc(s.file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && f.Name.Name == "init"
	})
}

// skips tells whether tests of a file may be skipped without a setting that
// makes the lack a failure.
func (s source) skips() bool {
	asks := false
	ast.Inspect(s.file, func(n ast.Node) bool {
		text, ok := n.(*ast.BasicLit)
		asks = asks || ok && strings.HasPrefix(text.Value, `"MUSTER_`)
		return true
	})
	return !asks && len(s.calls("t", "Skip", "Skipf", "SkipNow")) > 0
}

// tagged tells whether a file is only built when somebody asks for it.
func (s source) tagged() bool {
	return slices.ContainsFunc(s.file.Comments, func(g *ast.CommentGroup) bool {
		return slices.ContainsFunc(g.List, func(c *ast.Comment) bool { return constraint.IsGoBuild(c.Text) })
	})
}

// functions are the lengths of a file's functions in lines, by place.
func (s source) functions() map[string]int {
	lengths := map[string]int{}
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			lengths[s.set.Position(f.Pos()).String()+": "+f.Name.Name] = s.span(f) - s.tables(f)
		}
	}
	return lengths
}

func (s source) span(n ast.Node) int {
	return s.set.Position(n.End()).Line - s.set.Position(n.Pos()).Line + 1
}

// tables counts the lines between the braces of a function's literals, which
// are read as a table is. A literal with code in it is none, unless it is the
// list of a test's cases.
func (s source) tables(f *ast.FuncDecl) int {
	lines := 0
	ast.Inspect(f, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok || holdsCode(literal) && !(s.test && isList(literal)) {
			return true
		}
		lines += max(0, s.span(literal)-2)
		return false
	})
	return lines
}

func holdsCode(literal *ast.CompositeLit) bool {
	found := false
	ast.Inspect(literal, func(n ast.Node) bool {
		_, isFunc := n.(*ast.FuncLit)
		found = found || isFunc
		return !found
	})
	return found
}

func isList(literal *ast.CompositeLit) bool {
	switch literal.Type.(type) {
	case *ast.MapType, *ast.ArrayType:
		return true
	}
	return false
}
