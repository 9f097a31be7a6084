package page

import (
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A real terminal gets no sequence that it would obey.
func TestGuardedTerminal(t *testing.T) {
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Close()
	if err := unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	g := Guarded(inner)
	if _, err := g.Write([]byte("\x1b[31ma\x1b[0m\x1b]0;x\a\x1b[2")); err != nil {
		t.Fatal(err)
	}
	if err := g.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = "\x1b[31ma\x1b[0m" + `\x1b]0;x\a\x1b[2`
	got := make([]byte, len(want))
	if _, err := io.ReadFull(outer, got); err != nil || string(got) != want {
		t.Errorf("%q instead of %q, %v", got, want, err)
	}
}
