package journal_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-hpc/muster/internal/aws/nodes/journal"
)

var began = time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)

func launch(n int) journal.Launch {
	return journal.Launch{
		Token: fmt.Sprintf("muster-%d", n), At: began.Add(time.Duration(n) * time.Second),
		Nodes: []string{"q-dy-r-1", "q-dy-r-2"}, Request: []byte(`{"template":"c-q-r"}`),
	}
}

func answered(n int) journal.Launch {
	l := launch(n)
	l.Answered = true
	l.Instances = []journal.Instance{{Node: "q-dy-r-1", ID: "i-1", Started: began, Address: netip.MustParseAddr("10.0.0.1")}}
	return l
}

func open(t *testing.T, path string, wantDamaged int) (*journal.Journal, []journal.Launch) {
	t.Helper()
	j, launches, damaged, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() }) // the test may have closed it
	if damaged != wantDamaged {
		t.Errorf("%d lines are damaged, want %d", damaged, wantDamaged)
	}
	return j, launches
}

func compare(t *testing.T, got []journal.Launch, want ...journal.Launch) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRemembers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "launches")
	j, launches := open(t, path, 0)
	compare(t, launches)
	must(t, j.Begin(launch(2)))
	must(t, j.Begin(launch(1)))
	must(t, j.Begin(launch(3)))
	must(t, j.Answer(answered(1)))
	must(t, j.Settle("muster-3", "muster-unknown"))
	must(t, j.Settle())
	// A second user, as after kill -9 of the first.
	again, launches := open(t, path, 0)
	compare(t, launches, answered(1), launch(2))
	must(t, again.Settle("muster-1", "muster-2"))
	_, launches = open(t, path, 0)
	compare(t, launches)
}

// Wherever the file ends, what was written before that line is there, and what is
// written afterwards, too.
func TestCutTails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "launches")
	j, _ := open(t, path, 0)
	must(t, j.Begin(launch(1)))
	first, err := os.ReadFile(path)
	must(t, err)
	must(t, j.Begin(launch(2)))
	whole, err := os.ReadFile(path)
	must(t, err)
	for n := len(first) + 1; n < len(whole); n++ {
		must(t, os.WriteFile(path, whole[:n], 0o600))
		cut, launches := open(t, path, 1)
		compare(t, launches, launch(1))
		must(t, cut.Begin(launch(3)))
		must(t, cut.Close())
		after, launches := open(t, path, 0)
		compare(t, launches, launch(1), launch(3))
		must(t, after.Close())
	}
}

func TestDamagedLinesAreLostAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "launches")
	j, _ := open(t, path, 0)
	for n := range 3 {
		must(t, j.Begin(launch(n)))
	}
	whole, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, bytes.Replace(whole, []byte("muster-1"), []byte("muster-9"), 1), 0o600))
	_, launches := open(t, path, 1)
	compare(t, launches, launch(0), launch(2))

	must(t, os.WriteFile(path, []byte("\x00\x00\n\nnot a journal\n00000000 {}\n"), 0o600))
	_, launches = open(t, path, 4)
	compare(t, launches)
}

func TestStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "launches")
	j, _ := open(t, path, 0)
	must(t, j.Begin(launch(0)))
	for n := range 1000 {
		must(t, j.Begin(launch(n+1)))
		must(t, j.Answer(answered(n+1)))
		must(t, j.Settle(launch(n+1).Token))
	}
	text, err := os.ReadFile(path)
	must(t, err)
	if lines := strings.Count(string(text), "\n"); lines > 100 {
		t.Errorf("the file has %d lines for one launch", lines)
	}
	_, launches := open(t, path, 0)
	compare(t, launches, launch(0))
}

// A launch that could not be written down did not begin, and does not spoil what
// is written later.
func TestWriteFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	must(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "launches")
	j, _ := open(t, path, 0)
	must(t, j.Begin(launch(1)))
	must(t, j.Close()) // writes fail from now on
	must(t, os.Rename(dir, dir+"-away"))
	for range 2 {
		if err := j.Begin(launch(2)); err == nil {
			t.Fatal("a launch was written down to a file that is closed")
		}
	}
	must(t, os.Rename(dir+"-away", dir))
	// The file it had is closed, and the new one takes its place.
	must(t, j.Begin(launch(3)))
	_, launches := open(t, path, 0)
	compare(t, launches, launch(1), launch(3))
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("00000000 {}\n"))
	f.Add([]byte(`5c9e5b13 {"done":["a"]}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "launches")
		must(t, os.WriteFile(path, data, 0o600))
		j, launches, _, err := journal.Open(path)
		must(t, err)
		must(t, j.Begin(launch(1)))
		must(t, j.Close())
		_, again, damaged, err := journal.Open(path)
		if err != nil || damaged > 0 || len(again) < 1 || len(again) > len(launches)+1 {
			t.Fatalf("%d launches before and %d after one more, %d damaged, %v", len(launches), len(again), damaged, err)
		}
	})
}
