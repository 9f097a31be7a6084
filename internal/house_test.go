// Package house holds the house rules: it reads the tables of PACKAGES.md and
// MODULES.md and fails where the code differs from them.
package house

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageHasARow(t *testing.T) {
	h := load(t)
	for _, p := range h.packages {
		if strings.HasPrefix(p.path, inside) && h.rows[p.name()] == nil {
			t.Errorf("%s has no row in PACKAGES.md: say in one sentence what no other package does", p.path)
		}
	}
	for name := range h.rows {
		if !slices.ContainsFunc(h.packages, func(p pkg) bool { return p.path == inside+name }) {
			t.Errorf("PACKAGES.md has a row for %s, which is no package", name)
		}
	}
}

func TestImportsGoDown(t *testing.T) {
	h := load(t)
	for _, p := range h.packages {
		row := h.rows[p.name()]
		if row == nil {
			continue
		}
		used := map[string]bool{}
		for name := range p.imports(productive) {
			to, ok := strings.CutPrefix(name, module+inside)
			other := h.rows[to]
			if !ok || other == nil {
				continue
			}
			used[to] = true
			switch from, at := floor(row.floor), floor(other.floor); {
			case at > from:
				t.Errorf("%s (%s) imports %s, which is on a higher floor (%s)", row.name, row.floor, to, other.floor)
			case at == from && !slices.Contains(row.also, to):
				t.Errorf("%s imports %s of its own floor, which its row does not name", row.name, to)
			}
		}
		for _, name := range row.also {
			if !used[name] {
				t.Errorf("the row of %s names %s, which it does not import", row.name, name)
			}
		}
	}
}

func TestForeignModulesStayAtHome(t *testing.T) {
	h := load(t)
	used := map[string]map[string]bool{}
	for _, p := range h.packages {
		for name := range p.imports(all) {
			first, _, _ := strings.Cut(name, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(name, module) {
				continue
			}
			home, ok := h.home(name)
			switch {
			case !ok:
				t.Errorf("%s imports %s, which has no row in MODULES.md", p.path, name)
				continue
			case !slices.Contains(home.users, strings.TrimPrefix(p.path, inside)) && !(home.tests && (p.testing() || !p.imports(productive)[name])):
				t.Errorf("%s imports %s, whose home is %s", p.path, name, strings.Join(home.users, ", "))
			}
			if used[home.module] == nil {
				used[home.module] = map[string]bool{}
			}
			used[home.module][strings.TrimPrefix(p.path, inside)] = true
		}
	}
	for _, home := range h.homes {
		for _, user := range home.users {
			if !used[home.module][user] {
				t.Errorf("MODULES.md says that %s uses %s, which it does not", user, home.module)
			}
		}
	}
}

func TestPurePackagesDoNoIO(t *testing.T) {
	forbidden := []string{"os", "os/exec", "os/signal", "io/fs", "net", "net/http", "log", "log/slog", "syscall", "path/filepath", "math/rand", "math/rand/v2", "crypto/rand"}
	h := load(t)
	for _, p := range h.packages {
		if row := h.rows[p.name()]; row == nil || !row.pure {
			continue
		}
		for name := range p.imports(productive) {
			if slices.Contains(forbidden, name) || strings.HasPrefix(name, "golang.org/x/sys") {
				t.Errorf("%s is pure, but imports %s", p.path, name)
			}
		}
		for _, place := range p.clocks() {
			t.Errorf("%s: %s is pure and knows no clock: the time is given to it", place, p.path)
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range load(t).packages {
		if doc := p.doc(); len(p.pick(productive)) > 0 && doc == "" {
			t.Errorf("%s has no package comment", p.path)
		}
	}
}

func TestNames(t *testing.T) {
	forbidden := []string{"util", "utils", "common", "helper", "helpers", "types", "model", "models", "manager", "misc", "base", "shared"}
	for _, p := range load(t).packages {
		if slices.Contains(forbidden, path.Base(p.path)) {
			t.Errorf("%s: a package is named for what it is", p.path)
		}
	}
}

const (
	mostLines     = 400 // of a file
	mostFuncLines = 60  // of a function, without the rows of its tables
)

func TestFilesAndFunctionsAreSmall(t *testing.T) {
	for _, p := range load(t).packages {
		for _, s := range p.sources {
			if s.lines > mostLines {
				t.Errorf("%s has %d lines, more than %d: look for the seam", s.path, s.lines, mostLines)
			}
			for name, lines := range s.functions() {
				if lines > mostFuncLines {
					t.Errorf("%s has %d lines, more than %d", name, lines, mostFuncLines)
				}
			}
		}
	}
}

func TestHabits(t *testing.T) {
	for _, p := range load(t).packages {
		for _, s := range p.sources {
			for _, place := range s.unfinished() {
				t.Errorf("%s: do it, or leave it out", place)
			}
			for _, place := range s.calls("context", "Background", "TODO") {
				if p.path != inside+"cli" && !s.begins() {
					t.Errorf("%s: a context begins where the process starts; tests have t.Context", place)
				}
			}
			if s.initialises() {
				t.Errorf("%s has an init function: the doors build things and pass them down", s.path)
			}
			if s.test {
				for _, place := range s.calls("time", "Sleep") {
					t.Errorf("%s: tests wait for something, not for some time", place)
				}
				if s.tagged() {
					t.Errorf("%s has a build constraint: tests always run", s.path)
				}
				if s.skips() {
					t.Errorf("%s skips a test whatever MUSTER_CI and its like say: where CI has what it lacks, that must fail", s.path)
				}
			}
		}
	}
}

func TestTablesAreInOrder(t *testing.T) {
	h := load(t)
	for _, row := range h.rows {
		if floor(row.floor) < 0 {
			t.Errorf("%s: there is no floor %q", row.name, row.floor)
		}
		if !strings.HasSuffix(row.purpose, ".") && len(strings.Fields(row.purpose)) < 3 {
			t.Errorf("%s: the row says nothing", row.name)
		}
	}
	if names := slices.Collect(maps.Keys(h.rows)); len(names) == 0 || len(h.homes) == 0 {
		t.Fatal("PACKAGES.md or MODULES.md has no table")
	}
}
