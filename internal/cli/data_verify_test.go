package cli

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
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
