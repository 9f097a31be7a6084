package demo

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudgeDisk(t *testing.T) {
	const next = "; make room, or let MUSTER_HOME name another folder"
	cases := map[string]struct {
		disk syscall.Statfs_t
		want string
	}{
		"room":           {syscall.Statfs_t{Bsize: 4096, Bavail: 4096, Files: 10, Ffree: 1}, ""},
		"no_fixed_files": {syscall.Statfs_t{Bsize: 4096, Bavail: 1 << 20}, ""},
		"full":           {syscall.Statfs_t{Bsize: 4096, Bavail: 0, Files: 10, Ffree: 9}, "the disk is full: /h has 0 B free" + next},
		"for_roots_only": {syscall.Statfs_t{Bsize: 4096, Bfree: 1 << 20, Bavail: 0}, "the disk is full: /h has 0 B free" + next},
		"almost":         {syscall.Statfs_t{Bsize: 4096, Bavail: 4095}, "the disk is full: /h has 16 MiB free" + next},
		"no_more_files":  {syscall.Statfs_t{Bsize: 4096, Bavail: 1 << 20, Files: 10}, "the disk is full: /h has no room for another file" + next},
	}
	for name, c := range cases {
		if got := judgeDisk("/h", c.disk); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestShowEnds(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for name, text := range map[string]string{"empty": "", "full": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "newline": "\n"} {
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	showEnds(&out, paths)
	if diff := cmp.Diff("--- the end of "+dir+"/full\n2\n3\n4\n5\n6\n7\n8\n9\n", out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRun_stops_between_parts: no part begins after the end of the context, whose cause is told.
func TestRun_stops_between_parts(t *testing.T) {
	stopped := errors.New("broken pipe")
	for name, before := range map[string]bool{"before_the_first": true, "within_a_part": false} {
		ctx, cancel := context.WithCancelCause(t.Context())
		d := &demo{tell: &narrator{to: quiet{}}}
		d.steps.Report = d.tell
		began := 0
		do := func(context.Context) (string, error) {
			began++
			cancel(stopped)
			return "", errors.New("signal: killed")
		}
		if before {
			cancel(stopped)
		}
		if err := d.run(ctx, []part{{name: "a", do: do}, {name: "b", do: do}}); !errors.Is(err, stopped) {
			t.Errorf("%s: got %v", name, err)
		}
		if before != (began == 0) {
			t.Errorf("%s: %d parts began", name, began)
		}
		cancel(nil)
	}
}

// TestExplain looks at the disk, unless the demo was stopped.
func TestExplain(t *testing.T) {
	d := folderDemo(t)
	d.Home = filepath.Join(d.Home, "none")
	cause := errors.New("start slurmctld")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for want, ctx := range map[string]context.Context{
		cause.Error(): stopped,
		cause.Error() + "; the free space of " + d.Home + " is not known: no such file or directory": t.Context(),
	} {
		var r told
		d.Report = &r
		if err := d.explain(ctx, cause); !errors.Is(err, cause) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if note := "note failed: " + want; ctx.Err() == nil && !cmp.Equal(r.lines, []string{note}) {
			t.Errorf("it told %q, want %q", r.lines, note)
		}
	}
}
