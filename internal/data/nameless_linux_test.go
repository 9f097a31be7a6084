package data

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestNamelessHasRoom holds where it is if nobody says where: /tmp may be memory.
func TestNamelessHasRoom(t *testing.T) {
	for _, c := range []struct{ tmpdir, want string }{{"", "/var/tmp"}, {t.TempDir(), ""}} {
		t.Setenv("TMPDIR", c.tmpdir)
		f, err := nameless("")
		if err != nil {
			t.Fatal(err)
		}
		at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if f.Close(); err != nil || filepath.Dir(at) != cmp.Or(c.want, c.tmpdir) {
			t.Errorf("with TMPDIR=%q it is at %s, %v", c.tmpdir, at, err)
		}
	}
}
