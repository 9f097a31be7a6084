package export_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// replace puts another file of the same size and date in a file's place, as cp -p, rsync -a and tar do.
func replace(t *testing.T, path, text string) {
	t.Helper()
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".tmp", []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path+".tmp", was.ModTime(), was.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}

func TestReplacedUnderItsOldDate(t *testing.T) {
	for name, restart := range map[string]bool{"seen": false, "while_nobody_looked": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, files{"a": "old", "b": "two"})
			fake := &storetest.Fake{}
			m := mirror(dir, fake)
			finish(t, m)
			replace(t, filepath.Join(dir, "a"), "new")
			if restart {
				m = mirror(dir, fake)
			}
			finish(t, m)
			wantMirrored(t, dir, fake, files{"a": "new", "b": "two"})
			if fake.Puts() != 3 {
				t.Errorf("%d objects were put, want 3", fake.Puts())
			}
		})
	}
}

// TestFileOfTheYear1970 has a file of the date that unpacked archives often have: its object is ours like any other.
func TestFileOfTheYear1970(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"a": "old", "b": "two"})
	if err := os.Chtimes(filepath.Join(dir, "a"), time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	fake := &storetest.Fake{}
	m := mirror(dir, fake)
	finish(t, m)
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	finish(t, m)
	finish(t, m)
	wantMirrored(t, dir, fake, files{"b": "two"})
}

// inParts is a store that knows no SHA-256 of an object, as of one that went in parts.
type inParts struct{ *storetest.Fake }

func (s inParts) Head(ctx context.Context, key string) (store.Object, error) {
	o, err := s.Fake.Head(ctx, key)
	o.SHA256 = ""
	return o, err
}

// TestReplacedInParts has nothing but the place's checksum to tell a file from its object by.
func TestReplacedInParts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"a": "old", "b": "two"})
	place := inParts{&storetest.Fake{}}
	finish(t, mirror(dir, place))
	replace(t, filepath.Join(dir, "a"), "new")
	if err := os.Chmod(filepath.Join(dir, "b"), 0o600); err != nil {
		t.Fatal(err)
	}
	finish(t, mirror(dir, place))
	wantMirrored(t, dir, place, files{"a": "new", "b": "two"})
	if place.Puts() != 3 {
		t.Errorf("%d objects were put, want 3", place.Puts())
	}
}

func TestTouchedIsComparedAndNotSentAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"a": "old", "run/latest": "step", "run/step": "x"})
	fake := &storetest.Fake{}
	m := mirror(dir, fake)
	finish(t, m)
	puts := fake.Puts()
	for _, p := range []string{"a", "run/step", "run/latest"} {
		if err := os.Chmod(filepath.Join(dir, p), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		result, err := m.Round(t.Context(), soon())
		if err != nil || result.Pending != 0 || len(result.Objects) != result.Same {
			t.Errorf("got %+v, %v", result, err)
		}
	}
	result, err := m.Round(t.Context(), soon().Add(time.Hour))
	if err != nil || len(result.Objects) != 0 || fake.Puts() != puts {
		t.Errorf("got %+v, %v; %d objects were put again", result, err, fake.Puts()-puts)
	}
}
