package cli

import (
	"io"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadOrders: what is sent as the plugin sends it arrives, and one whose plugin has
// gone waits no longer.
func TestReadOrders(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	environment := temporary(t, "A=1\x00B=x y\x00")
	said := temporary(t, "")
	rights := unix.UnixRights(int(environment.Fd()), int(said.Fd()))
	if err := unix.Sendmsg(pair[0], []byte("27 /home/a b"), rights, nil, 0); err != nil {
		t.Fatal(err)
	}
	unix.Close(pair[0])
	got, err := readOrders(pair[1])
	if err != nil {
		t.Fatal(err)
	}
	defer got.stderr.Close()
	if want := []string{"A=1", "B=x y"}; !slices.Equal(got.environ, want) {
		t.Errorf("environment: got %q, want %q", got.environ, want)
	}
	if got.dir != "/home/a b" || got.umask != 0o27 {
		t.Errorf("got directory %q, umask %o", got.dir, got.umask)
	}
	if _, err := got.stderr.WriteString("heard"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(said.Name()); err != nil || string(text) != "heard" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := readOrders(pair[1]); err == nil {
		t.Error("there were no more orders, and that was no error")
	}
}

// temporary is an open file with a text.
func temporary(t *testing.T, text string) *os.File {
	t.Helper()
	f, err := os.Create(t.TempDir() + "/file")
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
