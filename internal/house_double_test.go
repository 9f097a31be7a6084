package house

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// The doubles of AWS are for tests and measurements, and import of muster what the rows of their page name.
func TestTheDoubleStandsOutside(t *testing.T) {
	const double = "test/cloud"
	h := load(t)
	rows := map[string][]string{}
	err := eachRow("Packages", path.Join(top, double, "README.md"), func(cells []string) { rows[path.Join(double, cells[0])] = list(cells[3]) })
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range h.packages {
		row, has := rows[p.path]
		if within := p.path == double || strings.HasPrefix(p.path, double+"/"); within && !has {
			t.Errorf("%s has no row in %s/README.md", p.path, double)
		}
		for name := range p.imports(productive) {
			to := strings.TrimPrefix(name, module)
			if !p.testing() && strings.HasPrefix(to, double) {
				t.Errorf("%s imports %s, which is for tests and measurements", p.path, to)
			}
			if of, ok := strings.CutPrefix(to, inside); has && ok && !slices.Contains(row, of) {
				t.Errorf("%s imports %s, which its row does not name", p.path, of)
			}
		}
		for _, of := range row {
			if !p.imports(productive)[module+inside+of] {
				t.Errorf("the row of %s names %s, which it does not import", p.path, of)
			}
		}
		delete(rows, p.path)
	}
	for name := range rows {
		t.Errorf("%s/README.md has a row for %s, which is no package", double, name)
	}
}
