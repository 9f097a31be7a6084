package lustre_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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
	for _, p := range paths {
		s := got[p]
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
	if got, err := lustre.ParseStates("/a: (0x00000009): (0x0000000d) released\n/c: (0x00000000)\n", []string{"/a", "/a: (0x00000009)", "/b", "/c"}); err != nil || len(got) != 2 || !got["/a: (0x00000009)"].Released() {
		t.Errorf("of some it says %v, %v", got, err)
	}
	for _, bad := range []string{"/fsx/x: (0x00000000)\n", "/fsx/a (0x0)\n", "/fsx/a: (0xzz)\n", "/fsx/a: (0x00000000)\n/fsx/b: (0x0)\n", "/fsx/a: (0x"} {
		if _, err := lustre.ParseStates(bad, []string{"/fsx/a"}); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestParseActions(t *testing.T) {
	got, err := lustre.ParseActions(recorded(t, "hsm_action.txt"), []string{"/fsx/a", "/fsx/b", "/fsx/c", "/fsx/d"})
	want := map[string]string{"/fsx/a": "NOOP", "/fsx/b": "RESTORE", "/fsx/c": "RESTORE", "/fsx/d": "ARCHIVE"}
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

// lfs stands in for the program, by what its source does: before 2.16 it stops at the first file of which it knows nothing.
// It asks for no file if one of them is not there, or is on another file system than the first.
type lfs struct {
	states map[string]uint32
	goesOn bool // as it does since
	calls  int
	most   int // arguments
	asked  []string
}

func (l *lfs) run(_ context.Context, args ...string) (stdout, stderr string, err error) {
	l.calls++
	l.most = max(l.most, len(args))
	if args[0] == "hsm_restore" {
		return l.restore(args[1:])
	}
	for _, p := range args[1:] {
		switch bits, ok := l.states[p]; {
		case ok:
			stdout += fmt.Sprintf("%s: (0x%08x)\n", p, bits)
		case l.goesOn:
			stderr, err = stderr+"lfs hsm_state: get HSM state for '"+p+"' failed: No such file or directory\n", errors.New("exit status 2")
		default:
			return stdout, "can't get hsm state for " + p + ": No such file or directory\n", errors.New("exit status 2")
		}
	}
	return stdout, stderr, err
}

func (l *lfs) restore(paths []string) (stdout, stderr string, err error) {
	var first os.FileInfo
	for _, p := range paths {
		info, err := os.Lstat(p)
		if err != nil {
			return "", "Cannot stat " + p + ": No such file or directory\n", errors.New("exit status 2")
		}
		if first == nil {
			first = info
		}
		if info.Sys().(*syscall.Stat_t).Dev != first.Sys().(*syscall.Stat_t).Dev {
			return "", "All files should be on the same filesystem: " + p + "\n", errors.New("exit status 22")
		}
	}
	l.asked = append(l.asked, paths...)
	return "", "", nil
}

func TestClient_states(t *testing.T) {
	for _, row := range []struct {
		name   string
		goesOn bool
		why    string
		calls  int
	}{
		{"lfs_2.15", false, "lfs: can't get hsm state for /fsx/0007\nx: No such file or directory", 7},
		{"lfs_2.16", true, "lfs: hsm_state: get HSM state for '/fsx/0007\nx' failed: No such file or directory", 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := &lfs{states: map[string]uint32{}, goesOn: row.goesOn}
			var paths []string
			wrong := map[int]bool{7: true, 8: true, 700: true, 1199: true}
			for i := range 1200 {
				p := fmt.Sprintf("/fsx/%04d\nx", i)
				paths = append(paths, p)
				if !wrong[i] {
					l.states[p] = 0x0d
				}
			}
			got, err := lustre.Client{Run: l.run}.States(t.Context(), paths)
			if err != nil || len(got) != len(paths) {
				t.Fatalf("%d answers, %v", len(got), err)
			}
			for i, a := range got {
				if a.Path != paths[i] || (a.Err != nil) != wrong[i] || a.State.Released() == wrong[i] {
					t.Errorf("of %q it says %+v", paths[i], a)
				}
			}
			if why := got[7].Err.Error(); why != row.why {
				t.Errorf("the reason is %q", why)
			}
			if l.calls > row.calls || l.most > 501 {
				t.Errorf("%d calls, the longest with %d arguments", l.calls, l.most)
			}
		})
	}
}

func TestClient_restore(t *testing.T) {
	l, dir := &lfs{}, t.TempDir()
	var paths, here []string
	for i := range 600 {
		p := filepath.Join(dir, fmt.Sprintf("-%d %s", i, strings.Repeat("x", 200)))
		paths = append(paths, p)
		if i%100 == 7 {
			continue // it went away
		}
		here = append(here, p)
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const elsewhere = "/dev/null"
	if err := (lustre.Client{Run: l.run}).Restore(t.Context(), append(paths, elsewhere)); err != nil {
		t.Fatal(err)
	}
	slices.Sort(l.asked)
	slices.Sort(here)
	if want := append([]string{elsewhere}, here...); !slices.Equal(l.asked, want) {
		t.Errorf("%d were asked for, not %d", len(l.asked), len(want))
	}
	fails := lustre.Client{Run: func(context.Context, ...string) (string, string, error) {
		return "", "Cannot send HSM request (use of x): Operation not permitted\n", errors.New("exit status 1")
	}}
	if err := fails.Restore(t.Context(), here); err == nil || err.Error() != "lfs: Cannot send HSM request (use of x): Operation not permitted" {
		t.Errorf("got %v", err)
	}
}
