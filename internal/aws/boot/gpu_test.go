package boot

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"
)

// TestThisMachine boots nothing: it has this machine prove its GPUs as each node does before it is one. Where MUSTER_GPU_TYPE names the
// instance type that this machine is like, all must be well, and less than what a larger one has: `test/gpu/run` runs it so. A machine
// without NVIDIA's driver proves nothing, and says so.
func TestThisMachine(t *testing.T) {
	m := Machine{}
	like := os.Getenv("MUSTER_GPU_TYPE")
	began := time.Now()
	said, err := m.Health(t.Context(), Wanted{Type: cmp.Or(like, "p5.4xlarge")})
	t.Logf("%+v: %q, %v, after %s", hardwareOf(m.devices()), said, err, time.Since(began).Round(time.Millisecond))
	if m.find("nvidia-smi") == "" && !strings.HasPrefix(said, "blind: no nvidia-smi") {
		t.Errorf("without nvidia-smi: %q, %v", said, err)
	}
	if like == "" {
		return
	}
	if err != nil || strings.Contains(said, "blind") {
		t.Errorf("as a %s: %q, %v", like, said, err)
	}
	if wrong, blind := m.Faults(t.Context()); len(wrong) > 0 || blind != "" {
		t.Errorf("faults of sound GPUs: %q, %q", wrong, blind)
	}
	if m.persists(t.Context()) { // otherwise it would be set
		said, err := m.StartGPUs(t.Context(), false)
		if t.Logf("start: %q", said); err != nil {
			t.Error(err)
		}
	}
	if said, err := m.Health(t.Context(), Wanted{Type: "p5.48xlarge"}); err == nil {
		t.Errorf("as a p5.48xlarge: %s", said)
	} else {
		t.Logf("as a p5.48xlarge: %v", err)
	}
}
