package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
)

func checked(text []byte) *diag.List {
	f := spec.OpenText("cluster.yaml", text, spec.Options{AWS: true})
	rules(f)
	return f.Problems
}

// mutations damage a line as people do: what is left of the line is the key, and
// what stands behind it.
var mutations = map[string]func(indent, key, rest string) []string{
	"lower_case": func(i, k, r string) []string { return []string{i + strings.ToLower(k) + ":" + r} },
	"swapped":    func(i, k, r string) []string { return []string{i + k[:1] + k[2:3] + k[1:2] + k[3:] + ":" + r} },
	"twice": func(i, k, r string) []string {
		return []string{i + k + ":" + r, strings.Repeat(" ", len(i)) + k + ":" + r}
	},
	"upper_value": func(i, k, r string) []string {
		value, comment, _ := strings.Cut(r, "#")
		return []string{i + k + ":" + strings.ToUpper(value) + " # c " + comment}
	},
	"quoted_value": func(i, k, r string) []string { return []string{i + k + ": '" + strings.TrimSpace(r) + "'"} },
	"top":          func(_, k, r string) []string { return []string{"# moved", k + ":" + r} },
	"commented": func(i, k, r string) []string {
		return []string{"# above", i + strings.ToUpper(k) + ":" + r, i + "# below"}
	},
}

var keyLine = regexp.MustCompile(`^( *(?:- )?)([A-Z][A-Za-z0-9]{3,}):(.*)$`)

// TestFixes_of_damaged_files damages lines of files and holds what --fix promises,
// with all rules: no more errors, every comment, and nothing to do the second
// time.
func TestFixes_of_damaged_files(t *testing.T) {
	var files []string
	for _, path := range []string{"../lint/testdata/base.yaml", "../spec/testdata/bad/guide.yaml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(text))
	}
	for name, damage := range mutations {
		t.Run(name, func(t *testing.T) {
			fixed, damaged := 0, 0
			for _, text := range files {
				lines := strings.Split(text, "\n")
				for i, line := range lines {
					m := keyLine.FindStringSubmatch(line)
					if m == nil || i%3 != 0 {
						continue
					}
					bad := slices.Concat(lines[:i], damage(m[1], m[2], m[3]), lines[i+1:])
					damaged++
					if holds(t, []byte(strings.Join(bad, "\n"))) {
						fixed++
					}
				}
			}
			if damaged == 0 || fixed == 0 {
				t.Errorf("%d of %d files changed", fixed, damaged)
			}
		})
	}
}

// holds mends a text and reports whether something was fixed.
func holds(t *testing.T, bad []byte) bool {
	t.Helper()
	mender := diag.Mender{Check: checked, Keeps: yamledit.CommentsKept}
	done := mender.Mend(bad)
	if before := checked(bad).Count(diag.Error); done.Left.Count(diag.Error) > before {
		t.Errorf("%d errors became %d:\n%s", before, done.Left.Count(diag.Error), bad)
	}
	if len(done.Fixed) == 0 {
		return false
	}
	if !yamledit.CommentsKept(bad, done.Text) {
		t.Errorf("a comment is lost:\n%s\n---\n%s", bad, done.Text)
	}
	if again := mender.Mend(done.Text); !bytes.Equal(again.Text, done.Text) {
		t.Errorf("the second time changes it again:\n%s\n---\n%s", done.Text, again.Text)
	}
	return true
}

func TestRewrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o604); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	if err := rewrite(path, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "new" {
		t.Errorf("got %q", got)
	}
	if err := rewrite(path, []byte("old"), []byte("newer")); err == nil || err.Error() != "it was changed meanwhile" {
		t.Errorf("a file that is another one: %v", err)
	}
	if err := rewrite(filepath.Join(dir, "none"), nil, nil); err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := rewrite(dir, nil, nil); err == nil {
		t.Error("a directory was written")
	}
	if err := rewrite(os.DevNull, nil, []byte("x")); err == nil {
		t.Error("a device was written")
	}
	other := filepath.Join(dir, "b.yaml")
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	if err := rewrite(path, []byte("new"), []byte("newer")); err == nil || !strings.HasPrefix(err.Error(), "it has 2 names (hard links)") {
		t.Errorf("a file with another name: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestPrintableLines(t *testing.T) {
	change := "--- a\r\n+\tx\u202ey\x1b[2J\n"
	if got, want := page.PrintableLines(change), "--- a\n+\tx\\u202ey\\x1b[2J\n"; got != want {
		t.Errorf("a terminal gets %q, want %q", got, want)
	}
}

func TestWord(t *testing.T) {
	for path, want := range map[string]string{
		"a/b-1.yaml": "a/b-1.yaml", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "-x": "./-x", "-": "-", "a*": "'a*'",
		"a\n\xff'\\.yaml": `$'a\n\xff\'\\.yaml'`, "한.yaml": "'한.yaml'", "a\u202eb": `$'a\u202eb'`,
	} {
		if got := word(path); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
}
