package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// code is a diagnostic's code with all that is said under it.
type code struct {
	name, severity string
	messages       []string
}

const codesHead = `# Codes of problems

<!-- Written by ` + "`go run ./docs/ref/gen`" + ` from the sources. -->

Every problem that muster reports about a file has a code, in brackets behind its
message and as ` + "`code`" + ` in JSON. A code never changes its meaning. "…" stands for the
file's own words.

| code | severity | says |
| --- | --- | --- |
`

// codesPage is docs/ref/codes.md.
func codesPage(root string) (string, error) {
	packages, err := sources(filepath.Join(root, "internal"))
	if err != nil {
		return "", err
	}
	var codes []code
	for _, p := range packages {
		codes = merge(codes, p.codes())
	}
	slices.SortFunc(codes, func(a, b code) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.severity, b.severity)) })
	var b strings.Builder
	b.WriteString(codesHead)
	for _, c := range codes {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.name, c.severity, strings.Join(c.messages, "<br>"))
	}
	return b.String(), nil
}

// merge adds the codes of another package. Two packages may say different
// things under one code.
func merge(codes, more []code) []code {
	for _, c := range more {
		i := slices.IndexFunc(codes, func(o code) bool { return o.name == c.name && o.severity == c.severity })
		if i < 0 {
			codes = append(codes, c)
			continue
		}
		for _, m := range c.messages {
			if !slices.Contains(codes[i].messages, m) {
				codes[i].messages = append(codes[i].messages, m)
			}
		}
		slices.Sort(codes[i].messages)
	}
	return codes
}

// source is a package's files without tests, and the bodies of its functions by
// name, those that are held in variables included.
type source struct {
	files  []*ast.File
	bodies map[string]*ast.BlockStmt
}

// sources parses all packages below a folder, in the order of their paths.
func sources(dir string) ([]*source, error) {
	byDir := map[string]*source{}
	var order []*source
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p := byDir[filepath.Dir(path)]
		if p == nil {
			p = &source{bodies: map[string]*ast.BlockStmt{}}
			byDir[filepath.Dir(path)] = p
			order = append(order, p)
		}
		p.add(file)
		return nil
	})
	return order, err
}

func (s *source) add(file *ast.File) {
	s.files = append(s.files, file)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			s.bodies[n.Name.Name] = n.Body
		case *ast.AssignStmt:
			name, named := n.Lhs[0].(*ast.Ident)
			if f, ok := n.Rhs[0].(*ast.FuncLit); ok && named {
				s.bodies[name.Name] = f.Body
			}
		}
		return true
	})
}

var (
	codePattern = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9-]+$`)
	verb        = regexp.MustCompile(`%[-+#0]*(\[\d+\])?\d*(\.\d+)?[a-z]`)
)

// codes finds the calls that report a problem: those with a code among their
// arguments, or with the field "code" of a row of a table.
func (s *source) codes() []code {
	found := map[[2]string]*code{}
	for _, f := range s.files {
		functions := []string{""}
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				functions = functions[:len(functions)-1]
				return true
			}
			functions = append(functions, named(n, functions[len(functions)-1]))
			if call, ok := n.(*ast.CallExpr); ok {
				s.call(call, functions[len(functions)-1], found)
			}
			return true
		})
	}
	var codes []code
	for _, c := range found {
		slices.Sort(c.messages)
		codes = append(codes, *c)
	}
	return codes
}

// named is the function that begins at a node, or that around it.
func named(n ast.Node, around string) string {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return n.Name.Name
	case *ast.AssignStmt:
		name, ok := n.Lhs[0].(*ast.Ident)
		if _, function := n.Rhs[0].(*ast.FuncLit); ok && function {
			return name.Name
		}
	}
	return around
}

// call notes what a call reports.
func (s *source) call(call *ast.CallExpr, function string, found map[[2]string]*code) {
	severities := s.severities(call)
	if len(severities) == 0 {
		return
	}
	for i, arg := range call.Args {
		names := []string{literal(arg)}
		if row, ok := arg.(*ast.SelectorExpr); ok && row.Sel.Name == "code" {
			names = s.tabled()
		}
		for _, name := range names {
			if !codePattern.MatchString(name) {
				continue
			}
			messages := s.messages(call, i, 0)
			if len(messages) == 0 {
				messages = s.given(function)
			}
			for _, severity := range severities {
				key := [2]string{name, severity}
				if found[key] == nil {
					found[key] = &code{name: name, severity: severity}
				}
				found[key].say(messages)
			}
		}
	}
}

// ordered are the severities, the worst first.
var ordered = []string{"Error", "Warning", "Info", "Blind"}

// severities are those that a call can report with: what it names itself, such
// as diag.Error, which may be made less where there is doubt; else what the
// function says.
func (s *source) severities(call *ast.CallExpr) []string {
	var all []string
	for _, arg := range call.Args {
		direct := true
		ast.Inspect(arg, func(n ast.Node) bool {
			if _, ok := n.(*ast.CallExpr); ok {
				direct = false
			}
			named, ok := n.(*ast.SelectorExpr)
			if x, plain := ident(named, ok); plain && x == "diag" {
				if at := slices.Index(ordered, named.Sel.Name); at >= 0 {
					all = append(all, strings.ToLower(ordered[at]))
					if at == 0 || at == 1 && !direct {
						all = append(all, strings.ToLower(ordered[at+1]))
					}
				}
			}
			return true
		})
	}
	if severity := s.severity(callee(call), 0); len(all) == 0 && severity != "" {
		all = append(all, severity)
	}
	return all
}

// ident is the name before a selector's dot.
func ident(s *ast.SelectorExpr, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return x.Name, true
}

// tabled are the codes in the first column, or in the field "code", of tables.
func (s *source) tabled() []string {
	var names []string
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			row, ok := n.(*ast.CompositeLit)
			if !ok || len(row.Elts) == 0 {
				return true
			}
			first := row.Elts[0]
			if pair, ok := first.(*ast.KeyValueExpr); ok {
				first = pair.Value
			}
			if name := literal(first); codePattern.MatchString(name) {
				names = append(names, name)
			}
			return true
		})
	}
	return names
}

// given are the texts that the callers of a function hand it as its message.
func (s *source) given(function string) []string {
	var messages []string
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || callee(call) != function {
				return true
			}
			for _, arg := range call.Args {
				if text := literal(arg); strings.Contains(text, " ") {
					messages = append(messages, text)
					break
				}
			}
			return true
		})
	}
	return messages
}

func (c *code) say(messages []string) {
	for _, m := range messages {
		m = strings.ReplaceAll(verb.ReplaceAllString(m, "…"), "%%", "%")
		m = strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(m)
		if strings.Trim(m, "… ") != "" && !slices.Contains(c.messages, m) {
			c.messages = append(c.messages, m)
		}
	}
}

// maxDepth is how many functions may hand a code on to each other.
const maxDepth = 4

// severity is that of what a function reports; empty if it reports nothing.
func (s *source) severity(function string, depth int) string {
	for prefix, severity := range map[string]string{"err": "error", "warn": "warning", "info": "info", "blind": "blind"} {
		if name := strings.ToLower(function); name == prefix+"orf" || name == prefix+"f" || name == prefix+"orat" || name == prefix+"at" {
			return severity
		}
	}
	body := s.bodies[function]
	if body == nil || depth > maxDepth {
		return ""
	}
	severity := ""
	handsOn(body, func(call *ast.CallExpr, _ int) {
		if severity == "" {
			severity = s.severity(callee(call), depth+1)
		}
	})
	return severity
}

// messages are the texts that a call reports under the code at argument i.
func (s *source) messages(call *ast.CallExpr, i, depth int) []string {
	for _, arg := range call.Args[i+1:] {
		if text := literal(arg); strings.Contains(text, " ") {
			return []string{text}
		}
	}
	var messages []string
	if body := s.bodies[callee(call)]; body != nil && depth <= maxDepth {
		handsOn(body, func(inner *ast.CallExpr, at int) {
			messages = append(messages, s.messages(inner, at, depth+1)...)
		})
	}
	return messages
}

// handsOn visits the calls by which a function hands its parameter "code" on.
func handsOn(body *ast.BlockStmt, visit func(call *ast.CallExpr, at int)) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			for i, arg := range call.Args {
				if id, ok := arg.(*ast.Ident); ok && id.Name == "code" {
					visit(call, i)
				}
			}
		}
		return true
	})
}

// callee is the name of the function that is called, without its receiver.
func callee(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// literal is the text of a string literal; empty for all else.
func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(lit.Value)
	return text
}
