package cli

import (
	"bytes"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
)

// TestTell holds that a file's name is a part of one line, whatever it has in it.
func TestTell(t *testing.T) {
	const name = "x\nmuster: all is well\x1b[2J"
	var out bytes.Buffer
	a := &app{err: &out}
	a.tellProblems([]data.Problem{{Path: name, Why: "it\nis gone"}}, 1)
	a.tellNames("%s is missing", []string{name}, 2)
	want := `muster: x\nmuster: all is well\x1b[2J: it\nis gone
muster: x\nmuster: all is well\x1b[2J is missing
`
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}
