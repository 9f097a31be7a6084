package cli

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/say/fault"
)

// TestProving_noRoom names what says where a sample goes, and promises nothing.
func TestProving_noRoom(t *testing.T) {
	other := errors.New("no such thing")
	for _, c := range []struct {
		keep string
		err  error
		want string
	}{
		{"", other, "no such thing"},
		{"", fmt.Errorf("put it: %w", syscall.ENOSPC), "put it: no space left on device; choose a directory that has room by TMPDIR=DIR or --keep-sample DIR"},
		{"d", fmt.Errorf("put it: %w", syscall.EDQUOT), "put it: " + syscall.EDQUOT.Error() + "; choose another directory for --keep-sample, or make room in this one"},
	} {
		if got := (proving{o: verifyOptions{keep: c.keep}}).noRoom(c.err); got.Error() != c.want {
			t.Errorf("got  %v\nwant %s", got, c.want)
		}
	}
	if (proving{}).noRoom(nil) != nil {
		t.Error("got an error of none")
	}
}

// TestProven_exit holds that nobody is told that all is well by a look that compared nothing.
func TestProven_exit(t *testing.T) {
	for _, c := range []struct {
		name string
		of   provenAnswer
		want int
	}{
		{"well", provenAnswer{Mode: "head", OK: true}, fault.ExitDone},
		{"wrong", provenAnswer{Mode: "head"}, fault.ExitProblem},
		{"all_unproven", provenAnswer{Mode: "head", OK: true, Proven: fileCount{Files: 2}, Unproven: 2}, fault.ExitLook},
		{"one_unproven", provenAnswer{Mode: "directory", OK: true, Proven: fileCount{Files: 2}, Unproven: 1}, fault.ExitLook},
		{"wrong_and_unproven", provenAnswer{Mode: "head", Unproven: 1}, fault.ExitProblem},
	} {
		var got fault.Exit
		if errors.As(c.of.exit(), &got); int(got) != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
