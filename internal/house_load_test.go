package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/muster-hpc/muster/"
	inside = "internal/"
	top    = ".." // the repository, seen from this test
)

// house is what there is, and what PACKAGES.md says there is.
type house struct {
	packages []pkg
	rows     map[string]*row
	homes    []home
}

// row is a package's line in the table of packages.
type row struct {
	floor, name, purpose string
	also                 []string
	pure, linux          bool
}

// home is a foreign module's line.
type home struct {
	module string
	users  []string
	tests  bool // every test may use it
}

// pkg is a folder with Go files.
type pkg struct {
	path    string
	sources []source
}

type source struct {
	path  string
	set   *token.FileSet
	file  *ast.File
	lines int
	test  bool
}

// floors are the house's floors, the lowest first.
var floors = []string{"words", "hands", "mind", "doors"}

func floor(name string) int { return slices.Index(floors, name) }

var loaded = sync.OnceValues(func() (house, error) {
	packages, err := readPackages()
	if err != nil {
		return house{}, err
	}
	rows, homes, err := readTables()
	return house{packages: packages, rows: rows, homes: homes}, err
})

func load(t *testing.T) house {
	t.Helper()
	h, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func readPackages() ([]pkg, error) {
	found := map[string]*pkg{}
	var order []string
	err := filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if name != top && (e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		s, err := readSource(name)
		if err != nil {
			return err
		}
		dir := path.Dir(s.path)
		if found[dir] == nil {
			found[dir] = &pkg{path: dir}
			order = append(order, dir)
		}
		found[dir].sources = append(found[dir].sources, s)
		return nil
	})
	var packages []pkg
	for _, dir := range order {
		packages = append(packages, *found[dir])
	}
	return packages, err
}

func readSource(name string) (source, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return source{}, err
	}
	rel, err := filepath.Rel(top, name)
	if err != nil {
		return source{}, err
	}
	s := source{path: filepath.ToSlash(rel), set: token.NewFileSet(), lines: bytes.Count(data, []byte("\n")), test: strings.HasSuffix(name, "_test.go")}
	s.file, err = parser.ParseFile(s.set, s.path, data, parser.ParseComments|parser.SkipObjectResolution)
	return s, err
}

// readTables reads the tables of PACKAGES.md and MODULES.md by the titles that they stand under.
func readTables() (map[string]*row, []home, error) {
	rows, homes := map[string]*row{}, []home{}
	err := eachRow("Packages", "PACKAGES.md", func(cells []string) {
		r := &row{floor: cells[0], name: cells[1], purpose: cells[2], also: list(cells[3])}
		r.pure, r.linux = slices.Contains(list(cells[4]), "pure"), slices.Contains(list(cells[4]), "Linux")
		rows[r.name] = r
	})
	if err != nil {
		return nil, nil, err
	}
	err = eachRow("Foreign modules", "MODULES.md", func(cells []string) {
		users := list(cells[1])
		h := home{module: cells[0], tests: slices.Contains(users, "tests")}
		h.users = slices.DeleteFunc(users, func(u string) bool { return u == "tests" })
		homes = append(homes, h)
	})
	return rows, homes, err
}

// eachRow calls do for the rows of the table below a title of a page.
func eachRow(title, page string, do func(cells []string)) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	below := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if t, ok := strings.CutPrefix(line, "## "); ok {
			below = t == title
		}
		if cells, ok := tableRow(line); ok && below {
			do(cells)
		}
	}
	return nil
}

// tableRow reads a line of a table's body: one whose second cell is in code.
func tableRow(line string) ([]string, bool) {
	if !strings.HasPrefix(line, "|") || !strings.Contains(line, "`") {
		return nil, false
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i, c := range cells {
		cells[i] = strings.Trim(strings.TrimSpace(c), "`")
	}
	for len(cells) < 5 {
		cells = append(cells, "")
	}
	return cells, true
}

// list reads the words of a cell, which are in code or plain.
func list(cell string) []string {
	return strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(" ,`", r) })
}

// home finds a foreign module's row for one of its packages.
func (h house) home(name string) (home, bool) {
	for _, x := range h.homes {
		if name == x.module || strings.HasPrefix(name, x.module+"/") {
			return x, true
		}
	}
	return home{}, false
}

func productive(s source) bool { return !s.test }
func all(source) bool          { return true }

// name is the package as rows name it; packages outside internal have none.
func (p pkg) name() string {
	name, ok := strings.CutPrefix(p.path, inside)
	if !ok {
		return ""
	}
	return name
}

// testing tells whether a package is of tests and measurements alone.
func (p pkg) testing() bool {
	return strings.HasPrefix(p.path, "test/") || strings.HasPrefix(p.path, "bench/")
}

func (p pkg) pick(want func(source) bool) []source {
	var some []source
	for _, s := range p.sources {
		if want(s) {
			some = append(some, s)
		}
	}
	return some
}

func (p pkg) imports(want func(source) bool) map[string]bool {
	names := map[string]bool{}
	for _, s := range p.pick(want) {
		for _, i := range s.file.Imports {
			if name, err := strconv.Unquote(i.Path.Value); err == nil {
				names[name] = true
			}
		}
	}
	return names
}

func (p pkg) doc() string {
	var text string
	for _, s := range p.pick(productive) {
		text += s.file.Doc.Text()
	}
	return text
}

// clocks are the places where a package asks for the time or waits.
func (p pkg) clocks() []string {
	var places []string
	for _, s := range p.pick(productive) {
		places = append(places, s.calls("time", "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker")...)
	}
	return places
}
