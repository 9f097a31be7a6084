package lustre_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/data/lustre"
)

// archive is a Lustre whose released files come some looks after they were asked for, or never.
type archive struct {
	states map[string]uint32
	due    map[string]int // looks until it comes; less than none is never
	asked  map[string]int
}

func (a *archive) run(_ context.Context, args ...string) (string, string, error) {
	var out strings.Builder
	for _, p := range args[1:] {
		switch args[0] {
		case "hsm_restore":
			a.asked[p]++
		case "hsm_action":
			fmt.Fprintf(&out, "%s: NOOP\n", p)
		case "hsm_state":
			if a.asked[p] > 0 && a.due[p] >= 0 {
				if a.due[p]--; a.due[p] < 0 {
					a.states[p] = 0x09
				}
			}
			bits, ok := a.states[p]
			if !ok {
				return out.String(), "can't get hsm state for " + p + ": Permission denied\n", errors.New("exit status 13")
			}
			fmt.Fprintf(&out, "%s: (0x%08x)\n", p, bits)
		}
	}
	return out.String(), "", nil
}

// shelf is a directory of files, with an archive that has their data.
func shelf(t *testing.T) (string, *archive) {
	t.Helper()
	dir := t.TempDir()
	a := &archive{states: map[string]uint32{}, due: map[string]int{}, asked: map[string]int{}}
	for name, state := range map[string]uint32{"here": 0x09, "new": 0, "gone/one": 0x0d, "gone/two\nlines": 0x0d, "gone/-rf": 0x0d, "lost": 0x4d, "never": 0x0d} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("abc"), 0o644); err != nil {
			t.Fatal(err)
		}
		a.states[path], a.due[path] = state, 2
	}
	a.due[filepath.Join(dir, "never")] = -1
	for _, name := range []string{"shut", "link"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "link")), os.Symlink("gone", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	return dir, a
}

func TestWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, a := shelf(t)
		w := &lustre.Warm{Client: lustre.Client{Run: a.run}}
		if err := w.Run(t.Context(), []string{dir}); err != nil {
			t.Fatal(err)
		}
		r := w.Result
		if r.Files != 8 || r.Here != 2 || r.Fetched != 3 || r.FetchedSize != 9 || r.Failed != 3 {
			t.Errorf("got %+v", r)
		}
		said := fmt.Sprint(r.Problems)
		for _, want := range []string{"lost its bucket does not have it any more", "shut lfs: can't get hsm state", "never it was asked for 4 times, and does not come"} {
			if !strings.Contains(said, want) {
				t.Errorf("it does not say %q: %s", want, said)
			}
		}
		if n := a.asked[filepath.Join(dir, "gone/one")]; n != 1 {
			t.Errorf("a file was asked for %d times", n)
		}
		again := &lustre.Warm{Client: lustre.Client{Run: a.run}}
		if err := again.Run(t.Context(), []string{filepath.Join(dir, "gone")}); err != nil || again.Result.Here != 3 || again.Result.Fetched != 0 {
			t.Errorf("a second time: %v, %+v", err, again.Result)
		}
	})
}

func TestWarm_shares(t *testing.T) {
	dir, a := shelf(t)
	for this := range 3 {
		w := &lustre.Warm{Client: lustre.Client{Run: a.run}, Share: lustre.Share{This: this, Of: 3}, AskOnly: true}
		if err := w.Run(t.Context(), []string{dir}); err != nil {
			t.Fatal(err)
		}
	}
	for path, n := range a.asked {
		if n != 1 {
			t.Errorf("%q was asked for %d times", path, n)
		}
	}
	if len(a.asked) != 4 {
		t.Errorf("%d files were asked for", len(a.asked))
	}
}

// TestWarm_of_what_goes_away has a file go between two looks.
func TestWarm_of_what_goes_away(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, a := shelf(t)
		first := filepath.Join(dir, "gone/one")
		w := &lustre.Warm{Client: lustre.Client{Run: func(ctx context.Context, args ...string) (string, string, error) {
			out, complaint, err := a.run(ctx, args...)
			if args[0] == "hsm_restore" {
				delete(a.states, first)
				_ = os.Remove(first)
			}
			return out, complaint, err
		}}}
		if err := w.Run(t.Context(), []string{filepath.Join(dir, "gone")}); err != nil || w.Result.Fetched != 2 || w.Result.Failed != 0 {
			t.Errorf("got %+v, %v", w.Result, err)
		}
	})
}

func TestWarm_stops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, a := shelf(t)
		ctx, stop := context.WithTimeoutCause(t.Context(), 3*time.Second, errors.New("enough"))
		defer stop()
		w := &lustre.Warm{Client: lustre.Client{Run: a.run}}
		if err := w.Run(ctx, []string{dir}); err == nil || err.Error() != "enough" {
			t.Errorf("got %v", err)
		}
	})
}
