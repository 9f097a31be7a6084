package lustre_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/lustre"
)

func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "lfs-2.15", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestParseStates(t *testing.T) {
	paths := []string{"/mnt/lustre/foo", "/fsx/a", "/fsx/b", "/fsx/with: (0x0) in it", "/fsx/c", "/fsx/d"}
	got, err := lustre.ParseStates(recorded(t, "hsm_state.txt"), paths)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range got {
		lines = append(lines, fmt.Sprintf("%s: released %v, lost %v, exported %v, refused %v", s, s.Released(), s.Lost(), s.Exported(), s.Refused()))
	}
	want := []string{
		"exists dirty archived: released false, lost false, exported false, refused false",
		": released false, lost false, exported false, refused false",
		"exists archived: released false, lost false, exported true, refused false",
		"released exists archived: released true, lost false, exported true, refused false",
		"never_release never_archive: released false, lost false, exported false, refused true",
		"exists archived lost_from_hsm: released false, lost true, exported false, refused false",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"/fsx/x: (0x00000000)\n", "/fsx/a (0x0)\n", "/fsx/a: (0xzz)\n", "/fsx/a: (0x00000000)\n/fsx/b: (0x0)\n", "/fsx/a: (0x"} {
		if _, err := lustre.ParseStates(bad, []string{"/fsx/a"}); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestParseActions(t *testing.T) {
	got, err := lustre.ParseActions(recorded(t, "hsm_action.txt"), []string{"/fsx/a", "/fsx/b", "/fsx/c", "/fsx/d"})
	want := []lustre.Action{{Name: "NOOP"}, {Name: "RESTORE", Progress: "waiting"}, {Name: "RESTORE", Progress: "running", MovedBytes: 1 << 20}, {Name: "ARCHIVE", Progress: "waiting"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func FuzzParseStates(f *testing.F) {
	f.Add("/a: (0x0000000d) released exists archived, archive_id:1\n", "/a", "/b")
	f.Fuzz(func(t *testing.T, out, a, b string) {
		if states, err := lustre.ParseStates(out, []string{a, b}); err == nil && len(states) > 2 {
			t.Errorf("%d states of two files", len(states))
		}
	})
}

// lfs stands in for the program, by what its source does: it stops at the first file of which
// it knows nothing.
type lfs struct {
	states map[string]uint32
	calls  int
	most   int // arguments
	asked  []string
}

func (l *lfs) run(_ context.Context, args ...string) (string, string, error) {
	l.calls++
	l.most = max(l.most, len(args))
	if args[0] == "hsm_restore" {
		l.asked = append(l.asked, args[1:]...)
		return "", "", nil
	}
	var out strings.Builder
	for _, p := range args[1:] {
		bits, ok := l.states[p]
		if !ok {
			return out.String(), "can't get hsm state for " + p + ": No such file or directory\n", errors.New("exit status 2")
		}
		fmt.Fprintf(&out, "%s: (0x%08x)%s\n", p, bits, "")
	}
	return out.String(), "", nil
}

func TestClient_states(t *testing.T) {
	l := &lfs{states: map[string]uint32{}}
	var paths []string
	for i := range 1200 {
		p := fmt.Sprintf("/fsx/%04d\nx", i)
		paths = append(paths, p)
		if l.states[p] = 0x0d; i == 7 || i == 700 {
			delete(l.states, p)
		}
	}
	got, err := lustre.Client{Run: l.run}.States(t.Context(), paths)
	if err != nil || len(got) != len(paths) {
		t.Fatalf("%d answers, %v", len(got), err)
	}
	for i, a := range got {
		if wrong := i == 7 || i == 700; a.Path != paths[i] || (a.Err != nil) != wrong || a.State.Released() == wrong {
			t.Errorf("of %q it says %+v", paths[i], a)
		}
	}
	if why := got[7].Err.Error(); why != "lfs: can't get hsm state for /fsx/0007" {
		t.Errorf("the reason is %q", why)
	}
	if l.calls > 6 || l.most > 501 {
		t.Errorf("%d calls, the longest with %d arguments", l.calls, l.most)
	}
}

func TestClient_restore(t *testing.T) {
	l := &lfs{}
	var paths []string
	for i := range 600 {
		paths = append(paths, fmt.Sprintf("/fsx/-%d %s", i, strings.Repeat("x", 300)))
	}
	if err := (lustre.Client{Run: l.run}).Restore(t.Context(), paths); err != nil || !slices.Equal(l.asked, paths) || l.calls < 2 {
		t.Errorf("%d of %d were asked for in %d calls, %v", len(l.asked), len(paths), l.calls, err)
	}
	fails := lustre.Client{Run: func(context.Context, ...string) (string, string, error) {
		return "", "Cannot send HSM request (use of x): Operation not permitted\n", errors.New("exit status 1")
	}}
	if err := fails.Restore(t.Context(), paths); err == nil || err.Error() != "lfs: Cannot send HSM request (use of x): Operation not permitted" {
		t.Errorf("got %v", err)
	}
}
