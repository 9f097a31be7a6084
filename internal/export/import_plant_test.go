package export_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// planting is a store that somebody waits for: with each object that is asked for, he does something in the directory.
type planting struct {
	store.Store
	plant func()
}

func (p planting) Get(ctx context.Context, key string) (io.ReadCloser, store.Object, error) {
	p.plant()
	return p.Store.Get(ctx, key)
}

// TestBring_writes_to_no_other_file has somebody who may write in the directory plant what leads to files of others, under the
// name that an import is about to write to, or above it.
func TestBring_writes_to_no_other_file(t *testing.T) {
	for _, c := range []struct {
		name  string
		plant func(dir, beside string) error
		fails string // why it does not come; "" if it does
	}{
		{"nothing", func(string, string) error { return nil }, ""},
		{"a_link", func(_, beside string) error { return os.Symlink("../theirs/file", beside) }, ""},
		{"a_link_to_nothing", func(_, beside string) error { return os.Symlink("../theirs/none", beside) }, ""},
		{"another_name", func(dir, beside string) error { return os.Link(filepath.Join(dir, "theirs/file"), beside) }, ""},
		{"a_pipe", func(_, beside string) error { return syscall.Mkfifo(beside, 0o666) }, ""},
		{"a_directory", func(_, beside string) error { return os.MkdirAll(filepath.Join(beside, "full"), 0o755) }, ""},
		{"a_link_above", func(_, beside string) error { return swap(filepath.Dir(beside), "theirs") }, ""},
		{"a_link_above_from_before", nil, "import mine/new: go into mine: it is no directory"},
	} {
		for _, what := range []string{"a file", "-> ../mine/old"} {
			t.Run(c.name+"/"+what, func(t *testing.T) {
				dir, fake := t.TempDir(), &storetest.Fake{}
				write(t, dir, files{"theirs/file": "theirs", "mine/old": "mine"})
				was := looks(t, filepath.Join(dir, "theirs"))
				place(t, fake, files{"mine/new": what})
				beside := filepath.Join(dir, fmt.Sprintf("mine/.tmp-import-%x", sumOf("mine/new")))
				s := planting{fake, func() {
					if err := c.plant(dir, beside); err != nil {
						t.Error(err)
					}
				}}
				if c.plant == nil {
					if err := swap(filepath.Dir(beside), "theirs"); err != nil {
						t.Fatal(err)
					}
				}
				rule := export.Rule{Dir: dir, Bucket: "b", New: true, Import: export.Policy{Initial: true, New: true}}
				m := &export.Mirror{Rule: rule, Pace: export.DefaultPace, Store: s, Record: record(t, "", rule)}
				result, err := m.Round(t.Context(), time.Now())
				if err != nil || (c.fails == "") != (result.Import.Files == 1) || !strings.HasPrefix(told(result.Import.Failed), c.fails) {
					t.Errorf("got %+v, %v", result.Import, err)
				}
				if diff := cmp.Diff(was, looks(t, filepath.Join(dir, "theirs"))); diff != "" {
					t.Errorf("another's files (-want +got):\n%s", diff)
				}
				if _, err := os.Lstat(beside); err == nil {
					t.Errorf("%s is left", beside)
				}
			})
		}
	}
}

func sumOf(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:8]
}

// swap puts a link in the place of a directory.
func swap(dir, target string) error {
	if err := os.Rename(dir, dir+"-was"); err != nil {
		return err
	}
	return os.Symlink(target, dir)
}

func told(errs []error) string {
	if len(errs) == 0 {
		return ""
	}
	return errs[0].Error()
}

// looks are the files of a directory, with all that an import sets.
func looks(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		stat := info.Sys().(*syscall.Stat_t)
		all = append(all, fmt.Sprintln(e.Name(), info.Mode(), info.ModTime(), stat.Uid, stat.Gid, string(text), err))
	}
	return all
}
