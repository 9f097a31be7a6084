package house

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// skipAnywhere are the tests that may be skipped in CI, too: those that another test runs, in namespaces of its own,
// one that changes the machine, and what only make soak runs.
var skipAnywhere = []string{
	"internal/aws/agent.enter", "internal/aws/agent.inside", "internal/local/doctor.TestInstallForReal",
	"test/cloud/machine.TestInside", "test/soak.Only",
}

// Whatever skips a test looks first whether this is CI, where it fails.
func TestSkipsFailInCI(t *testing.T) {
	var skips []string
	eachFunction(t, func(name string, f *ast.FuncDecl) {
		skip, asks := false, false
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.SelectorExpr:
				of, ok := x.X.(*ast.Ident)
				skip = skip || ok && (of.Name == "t" || of.Name == "b" || of.Name == "tb") && strings.HasPrefix(x.Sel.Name, "Skip")
			case *ast.BasicLit:
				asks = asks || x.Value == `"MUSTER_CI"`
			}
			return true
		})
		if skip && !asks {
			skips = append(skips, name)
		}
	})
	slices.Sort(skips)
	if !slices.Equal(skips, skipAnywhere) {
		t.Errorf("these skip without a look at MUSTER_CI: %q, want %q", skips, skipAnywhere)
	}
}

// What make soak alone runs is found by its name, and plain `go test` skips it by a call: a test has both or neither.
func TestSoaksHaveTheName(t *testing.T) {
	eachFunction(t, func(name string, f *ast.FuncDecl) {
		calls := false
		ast.Inspect(f, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok {
				of, ok := x.X.(*ast.Ident)
				calls = calls || ok && of.Name == "soak" && x.Sel.Name == "Only"
			}
			return true
		})
		if named := strings.HasPrefix(f.Name.Name, "TestSoak_"); named != calls && !strings.HasPrefix(name, "test/soak.") {
			t.Errorf("%s: is named TestSoak_: %v, calls soak.Only: %v", name, named, calls)
		}
	})
}

// eachFunction reads the functions of all modules, tests and what tests use: internal/aws/agent.TestBoot.
func eachFunction(t *testing.T, do func(name string, f *ast.FuncDecl)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || path == filepath.Join("..", "bin") || path == filepath.Join("..", ".git")) {
			return cmp.Or(err, filepath.SkipDir)
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, _ := filepath.Rel("..", filepath.Dir(path))
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				do(filepath.ToSlash(dir)+"."+f.Name.Name, f)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
