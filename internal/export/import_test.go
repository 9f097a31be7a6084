package export_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

var allOf = export.Policy{Initial: true, New: true, Changed: true, Deleted: true}

// importer is a mirror that imports all and exports nothing.
func importer(t *testing.T, dir, prefix string, s store.Store) *export.Mirror {
	t.Helper()
	rule := export.Rule{Dir: dir, Bucket: "b", Prefix: prefix, Import: allOf}
	return &export.Mirror{Rule: rule, Pace: export.DefaultPace, Store: s, Record: record(t, "", rule)}
}

func record(t *testing.T, name string, rule export.Rule) *export.Record {
	t.Helper()
	r, err := export.OpenRecord(name, rule)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// round runs one round, which must not fail as a whole.
func round(t *testing.T, m *export.Mirror) export.Imported {
	t.Helper()
	result, err := m.Round(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return result.Import
}

func TestImportBringsBackWhatWasExported(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, job)
	fake := &storetest.Fake{}
	finish(t, mirror(dir, fake))
	puts := fake.Puts()

	fresh := t.TempDir()
	filler := importer(t, fresh, "fsx1", fake)
	if got := round(t, filler); got.Files != len(lasting(job)) || len(got.Failed) > 0 {
		t.Errorf("%d files came: %v", got.Files, got.Failed)
	}
	wantMirrored(t, fresh, fake, job)
	was, err := os.Stat(filepath.Join(dir, "run/checkpoint-1/model.bin"))
	if err != nil {
		t.Fatal(err)
	}
	is, err := os.Stat(filepath.Join(fresh, "run/checkpoint-1/model.bin"))
	if err != nil || is.Mode() != was.Mode() || !is.ModTime().Equal(was.ModTime()) {
		t.Errorf("it came as %v %v, was %v %v: %v", is.Mode(), is.ModTime(), was.Mode(), was.ModTime(), err)
	}
	finish(t, mirror(fresh, fake))
	if fake.Puts() != puts {
		t.Errorf("%d imported files were exported again", fake.Puts()-puts)
	}
	if got := round(t, filler); got.Files != 0 || len(got.Failed) > 0 {
		t.Errorf("a second import brought %+v", got)
	}
}

func TestImportTrustsNothing(t *testing.T) {
	for _, c := range []struct {
		name, key, body, mode string
	}{
		{"climbs", "p/../../evil", "x", ""},
		{"absolute", "p//evil", "x", ""},
		{"damaged", "p/damaged", "x", ""},
		{"link_out", "p/link", "../../evil", "0120777"},
		{"link_absolute", "p/link", "/etc/passwd", "0120777"},
		{"strange_mode", "p/f", "x", "rwx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "dir")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			fake := &storetest.Fake{}
			u := store.Upload{Key: c.key, Body: bytes.NewReader([]byte(c.body)), SizeBytes: int64(len(c.body))}
			if c.mode != "" {
				u.Meta = map[string]string{"file-permissions": c.mode}
			}
			if _, err := fake.Put(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			if c.name == "damaged" {
				fake.Damage(c.key)
			}
			got := round(t, importer(t, dir, "p", fake))
			if got.Files != 0 || len(got.Failed) != 1 || !strings.Contains(got.Failed[0].Error(), "import "+c.key) {
				t.Errorf("%+v", got)
			}
			for _, d := range []string{parent, dir} {
				entries, err := os.ReadDir(d)
				if err != nil || len(entries) > 1 || d == dir && len(entries) > 0 {
					t.Errorf("%s holds %v, %v", d, entries, err)
				}
			}
		})
	}
}

func TestImportKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"a": "mine"})
	fake := &storetest.Fake{Now: func() time.Time { return time.Unix(1000, 0) }}
	for _, key := range []string{"a", "b", "c/"} {
		if _, err := fake.Put(t.Context(), store.Upload{Key: key, Body: strings.NewReader(""), SizeBytes: 0}); err != nil {
			t.Fatal(err)
		}
	}
	if got := round(t, importer(t, dir, "", fake)); got.Files != 1 || len(got.Failed) > 0 || !slices.Equal(got.Both, []string{"a"}) {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a")); string(text) != "mine" {
		t.Errorf("a is %q, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "b")); err != nil || info.ModTime().Unix() != 1000 {
		t.Errorf("b is %v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "c")); err != nil || !info.IsDir() {
		t.Errorf("c is %v, %v", info, err)
	}
}
