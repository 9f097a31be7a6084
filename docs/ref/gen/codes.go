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
		codes = append(codes, p.codes()...)
	}
	slices.SortFunc(codes, func(a, b code) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.severity, b.severity)) })
	var b strings.Builder
	b.WriteString(codesHead)
	for _, c := range codes {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.name, c.severity, strings.Join(c.messages, "<br>"))
	}
	return b.String(), nil
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
	verb        = regexp.MustCompile(`%(\[\d+\])?[a-z]`)
)

// codes finds the calls that report a problem: those with a code among their
// arguments.
func (s *source) codes() []code {
	found := map[[2]string]*code{}
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for i, arg := range call.Args {
				name := literal(arg)
				severity := s.severity(callee(call), 0)
				if !codePattern.MatchString(name) || severity == "" {
					continue
				}
				key := [2]string{name, severity}
				if found[key] == nil {
					found[key] = &code{name: name, severity: severity}
				}
				found[key].say(s.messages(call, i, 0))
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
