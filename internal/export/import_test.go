package export_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

func TestImportBringsBackWhatWasExported(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, job)
	fake := &storetest.Fake{}
	finish(t, mirror(dir, fake))
	puts := fake.Puts()

	fresh := t.TempDir()
	rule := export.Rule{Dir: fresh, Prefix: "fsx1"}
	n, err := export.Import(t.Context(), rule, fake)
	if err != nil || n != len(lasting(job)) {
		t.Errorf("%d files came: %v", n, err)
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
	if n, err := export.Import(t.Context(), rule, fake); n != 0 || err != nil {
		t.Errorf("a second import brought %d: %v", n, err)
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
			n, err := export.Import(t.Context(), export.Rule{Dir: dir, Prefix: "p"}, fake)
			if err == nil || n != 0 || !strings.Contains(err.Error(), "import "+c.key) {
				t.Errorf("%d files came: %v", n, err)
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
	if n, err := export.Import(t.Context(), export.Rule{Dir: dir}, fake); n != 1 || err != nil {
		t.Errorf("%d files came: %v", n, err)
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
