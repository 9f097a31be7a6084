package export_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// midway is a store during whose puts something happens after the first half of the content was read.
type midway struct {
	store.Store
	once func()
}

func (m *midway) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	if m.once != nil {
		u.Body = &halves{u.Body, u.SizeBytes / 2, m.once}
		m.once = nil
	}
	return m.Store.Put(ctx, u)
}

// halves is a content of which something happens between two halves.
type halves struct {
	body io.ReaderAt
	half int64
	once func()
}

func (h *halves) ReadAt(p []byte, off int64) (int, error) {
	if h.once == nil || off+int64(len(p)) <= h.half {
		return h.body.ReadAt(p, off)
	}
	n, err := h.body.ReadAt(p[:h.half-off], off)
	h.once()
	h.once = nil
	if err != nil {
		return n, err
	}
	m, err := h.body.ReadAt(p[n:], off+int64(n))
	return n + m, err
}

// TestNothingTornIsExported changes files between the reads of their first and last bytes.
func TestNothingTornIsExported(t *testing.T) {
	old, other := strings.Repeat("old ", 1<<10), strings.Repeat("new ", 1<<10)
	for name, c := range map[string]struct {
		file   string
		change func(path string) error
		then   string
	}{
		"in_place":                {"model.bin", func(p string) error { return inPlace(p, other) }, other},
		"in_place_under_old_date": {"model.bin", func(p string) error { return underOldDate(p, other) }, other},
		"shrinks":                 {"model.bin", func(p string) error { return os.Truncate(p, 5) }, old[:5]},
		"grows":                   {"model.bin", func(p string) error { return inPlace(p, old+other) }, old + other},
		"log_in_place":            {"train.log", func(p string) error { return inPlace(p, other) }, other},
		"log_written_anew":        {"train.log", func(p string) error { return inPlace(p, other+other) }, other + other},
	} {
		t.Run(name, func(t *testing.T) {
			dir, fake := t.TempDir(), &storetest.Fake{}
			write(t, dir, files{c.file: old})
			m := mirror(dir, &midway{fake, func() {
				if err := c.change(filepath.Join(dir, c.file)); err != nil {
					t.Error(err)
				}
			}})
			result, err := m.Round(t.Context(), soon())
			if err != nil || !slices.Equal(result.Changed, []string{c.file}) {
				t.Errorf("got %+v, %v", result, err)
			}
			if got := bucket(t, fake); len(got) != 0 {
				t.Errorf("%v is in the bucket", got)
			}
			finish(t, m)
			wantMirrored(t, dir, fake, files{c.file: c.then})
		})
	}
}

// inPlace writes over the beginning of a file.
func inPlace(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// underOldDate writes over a file that keeps its date.
func underOldDate(path, text string) error {
	was, err := os.Stat(path)
	if err != nil {
		return err
	}
	return errors.Join(inPlace(path, text), os.Chtimes(path, was.ModTime(), was.ModTime()))
}
