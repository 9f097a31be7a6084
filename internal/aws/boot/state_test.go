package boot

import (
	"os"
	"testing"
)

func TestOwn(t *testing.T) {
	m := machineOf(t, &fake{}, "")
	const kept = "/var/lib/muster/munge.key"
	for _, c := range []struct {
		instance, detail string
		stays            bool
	}{
		{"i-1", "", true}, // kept before there was an owner
		{"i-1", "", true},
		{"i-2", "; the image is of i-1, and what that kept is gone", false},
		{"i-2", "", true},
	} {
		if _, err := m.Write(kept, "secret", 0o400, ""); err != nil {
			t.Fatal(err)
		}
		detail, err := m.Own(c.instance)
		if err != nil || detail != c.detail {
			t.Errorf("%s: got %q, %v", c.instance, detail, err)
		}
		if _, err := os.Stat(m.path(kept)); (err == nil) != c.stays {
			t.Errorf("%s: %v, and it should stay: %t", c.instance, err, c.stays)
		}
	}
	if _, err := os.Stat(m.path("/var/lib/muster.former")); err == nil {
		t.Error("the former machine's state is still there")
	}
}
