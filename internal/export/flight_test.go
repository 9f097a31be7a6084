package export_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// slow is a store whose large objects go on until they are let go, without a byte of theirs.
type slow struct {
	store.Store
	begins chan string
	goes   chan error
}

func (s *slow) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	if u.SizeBytes <= 1000 {
		return s.Store.Put(ctx, u)
	}
	s.begins <- u.Key
	select {
	case err := <-s.goes:
		if err != nil {
			return store.Object{}, err
		}
	case <-ctx.Done():
		return store.Object{}, context.Cause(ctx)
	}
	return s.Store.Put(ctx, u)
}

func (s *slow) keys(t *testing.T) string {
	t.Helper()
	var all []string
	for o, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimPrefix(o.Key, "fsx1/"))
	}
	return strings.Join(all, " ")
}

// TestLargeFileHoldsUpNoOther has files that take long. What comes meanwhile goes out, in its order, and nothing that needs one of them.
func TestLargeFileHoldsUpNoOther(t *testing.T) {
	dir, s := t.TempDir(), &slow{Store: &storetest.Fake{}, begins: make(chan string, 9), goes: make(chan error)}
	m := mirror(dir, s)
	r, err := export.OpenRecord(filepath.Join(t.TempDir(), "record"), m.Rule)
	if err != nil {
		t.Fatal(err)
	}
	m.Record, m.Large = r, 1000
	defer r.Close()
	defer m.Close()
	now := soon()
	round := func(want string) export.Result {
		t.Helper()
		now = now.Add(time.Hour)
		result, err := m.Round(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.keys(t); got != want {
			t.Errorf("the bucket has %q, want %q", got, want)
		}
		return result
	}
	large(t, filepath.Join(dir, "run/step-1/model.bin"))
	write(t, dir, files{"run/latest": "step-1", "old": "x"})
	round("old")
	if p := m.Track.Progress(); p.Files != 2 {
		t.Errorf("%d files wait, want 2", p.Files)
	}
	if key := <-s.begins; key != "fsx1/run/step-1/model.bin" {
		t.Errorf("%s began", key)
	}
	write(t, dir, files{"other/step-7/model.bin": "x", "other/latest": "step-7"})
	if err := os.Remove(filepath.Join(dir, "old")); err != nil {
		t.Fatal(err)
	}
	for range 3 { // what goes is not deleted while something large may be it under a new name
		if result := round("old other/latest other/step-7/model.bin"); result.Beside != 1 {
			t.Errorf("%d files go beside the round", result.Beside)
		}
	}
	if p := m.Track.Progress(); len(p.Sending) != 1 || p.Sending[0].Path != "run/step-1/model.bin" {
		t.Errorf("it says that %+v is sent", p.Sending)
	}
	for len(m.Bell()) > 0 {
		<-m.Bell()
	}
	s.goes <- nil
	<-m.Bell()
	round("other/latest other/step-7/model.bin run/latest run/step-1/model.bin")
	if result := round("other/latest other/step-7/model.bin run/latest run/step-1/model.bin"); result.Pending > 0 {
		t.Errorf("%d files wait", result.Pending)
	}
}

// TestLargeFileThatIsGone ends a put whose file is gone or another one, and one that fails is tried again.
func TestLargeFileThatIsGone(t *testing.T) {
	fails := errors.New("the place is not well")
	for _, c := range []struct {
		name   string
		then   func(s *slow, file string) error
		begins int // again
		fails  error
	}{
		{"gone", func(_ *slow, file string) error { return os.Remove(file) }, 0, nil},
		{"another_one", func(_ *slow, file string) error { return os.Chmod(file, 0o600) }, 1, nil},
		{"failed", func(s *slow, _ string) error { s.goes <- fails; return nil }, 1, fails},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, s := t.TempDir(), &slow{Store: &storetest.Fake{}, begins: make(chan string, 9), goes: make(chan error)}
			m := mirror(dir, s)
			m.Large = 1000
			defer m.Close()
			large(t, filepath.Join(dir, "large"))
			var err error
			for n := range 4 {
				result, again := m.Round(t.Context(), soon().Add(time.Duration(n)*time.Hour))
				if err = errors.Join(err, again); n == 3 && result.Beside != c.begins {
					t.Errorf("%d go beside the round, want %d", result.Beside, c.begins)
				}
				if n > 0 {
					continue
				}
				<-s.begins
				for len(m.Bell()) > 0 {
					<-m.Bell()
				}
				if err := c.then(s, filepath.Join(dir, "large")); err != nil {
					t.Fatal(err)
				}
				if c.fails != nil {
					<-m.Bell()
				}
			}
			if c.begins > 0 {
				<-s.begins
			}
			if !errors.Is(err, c.fails) || c.fails == nil && err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

// large makes a file of holes that no round waits for.
func large(t *testing.T, file string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("weights"), 0o640), os.Truncate(file, 1001), os.Chtimes(file, old, old)); err != nil {
		t.Fatal(err)
	}
}
