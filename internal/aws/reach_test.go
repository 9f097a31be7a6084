package aws

import (
	"bytes"
	"errors"
	"testing"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
)

// TestRunSSH_reads_what_it_is_given instead of this process's input.
func TestRunSSH_reads_what_it_is_given(t *testing.T) {
	if err := runSSH(t.Context(), []string{"sh", "-c", `test "$(cat)" = "a secret"`}, place.Program{Input: []byte("a secret\n")}); !errors.Is(err, fault.PassedOn(0)) && err != nil {
		t.Error(err)
	}
	if err := runSSH(t.Context(), []string{"sh", "-c", "cat >/dev/null; exit 3"}, place.Program{Input: []byte{}}); err == nil {
		t.Error("it ends well")
	}
}

// TestRunSSH_writes_where_it_is_told instead of this process's output.
func TestRunSSH_writes_where_it_is_told(t *testing.T) {
	var out bytes.Buffer
	err := runSSH(t.Context(), []string{"sh", "-c", "echo a report; exit 1"}, place.Program{Input: []byte{}, Output: &out})
	if !errors.Is(err, fault.PassedOn(1)) || out.String() != "a report\n" {
		t.Errorf("%v, and %q", err, out.String())
	}
}
