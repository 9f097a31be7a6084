package fleet_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/fleet"
)

// TestKernelReason: what a node says of itself is ours, one line as Slurm keeps it, and read again.
func TestKernelReason(t *testing.T) {
	line := `NVRM: Xid (PCI:0000:38:00): 79, pid=1, name="x", GPU has fallen off the bus.`
	reason := fleet.KernelReason(line)
	got, ok := fleet.KernelLine(reason)
	if !ok || !fleet.Ours(reason) || got != strings.ReplaceAll(line, `"`, "'") || reason != "muster: kernel: "+got {
		t.Errorf("got %q, %t", reason, ok)
	}
	if long := fleet.KernelReason(strings.Repeat("x", 8000)); len(long) > 300 {
		t.Errorf("it has %d bytes", len(long))
	}
	for _, other := range []string{"", "kernel: x", "muster: job 7: kernel: x", "muster: the instance ended"} {
		if line, ok := fleet.KernelLine(other); ok {
			t.Errorf("%q has %q", other, line)
		}
	}
}
