package aws

import (
	"errors"
	"testing"

	"github.com/muster-hpc/muster/internal/say/fault"
)

// TestRunSSH_reads_what_it_is_given instead of this process's input.
func TestRunSSH_reads_what_it_is_given(t *testing.T) {
	if err := runSSH(t.Context(), []string{"sh", "-c", `test "$(cat)" = "a secret"`}, []byte("a secret\n")); !errors.Is(err, fault.PassedOn(0)) && err != nil {
		t.Error(err)
	}
	if err := runSSH(t.Context(), []string{"sh", "-c", "cat >/dev/null; exit 3"}, []byte{}); err == nil {
		t.Error("it ends well")
	}
}
