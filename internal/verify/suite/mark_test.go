package suite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/verify"
)

// A mark takes what an earlier one left, and nothing else.
func TestMark(t *testing.T) {
	dir := t.TempDir()
	old, young, theirs := filepath.Join(dir, markPrefix+"old"), filepath.Join(dir, markPrefix+"young"), filepath.Join(dir, "theirs")
	link := filepath.Join(dir, markPrefix+"link")
	for _, path := range []string{old, young, theirs} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(theirs, link); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := os.Chtimes(old, now.Add(-2*markAge), now.Add(-2*markAge)); err != nil {
		t.Fatal(err)
	}
	m := mark{dir: dir, path: filepath.Join(dir, markPrefix+"new"), text: "text"}
	if err := m.leave(now); err != nil {
		t.Fatal(err)
	}
	if err := m.leave(now); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second one over it: %v", err)
	}
	for path, there := range map[string]bool{old: false, young: true, theirs: true, link: true, m.path: true} {
		if _, err := os.Lstat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	takeMarks([]mark{m, {path: young, err: errors.New("it is not ours")}})
	if _, err := os.Lstat(m.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := os.Lstat(young); err != nil {
		t.Error(err)
	}
}

func TestSeenAlike(t *testing.T) {
	marks := []mark{{dir: "/a", path: "/a/m"}, {dir: "/b", path: "/b/m", err: errors.New("permission denied")}}
	r := &run{alloc: &allocation{nodes: []string{"n-1", "n-2", "n-3"}}}
	g := greeted{clocks: map[string]clock{"n-1": {}, "n-2": {}}, unseen: map[string]map[string]string{"n-2": {"/a/m": "it is not there"}}}
	want := map[string]verify.Verdict{"n-1:/a": verify.Pass, "n-2:/a": verify.Fail, "n-1:/b": verify.Blind, "n-2:/b": verify.Blind}
	got := r.seenAlike(g, marks)
	if len(got) != len(want) {
		t.Errorf("%+v", got)
	}
	for _, x := range got {
		if x.Verdict != want[x.On] {
			t.Errorf("%+v", x)
		}
	}
}

// TestMdtestLooksAtOtherNodes: the next task (-N 1) is on another node where srun deals the tasks out in turn.
func TestMdtestLooksAtOtherNodes(t *testing.T) {
	r := &run{alloc: &allocation{nodes: []string{"n-1", "n-2"}}}
	args := strings.Join(r.args(mdtestStep("mdtest", "/fsx/place", 8)), " ")
	for _, want := range []string{" --ntasks-per-node=8 ", " --distribution=cyclic ", " -N 1 "} {
		if !strings.Contains(args, want) {
			t.Errorf("srun %s lacks %q", args, want)
		}
	}
}
