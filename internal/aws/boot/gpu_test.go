//go:build gpu

package boot

import (
	"cmp"
	"os"
	"testing"
	"time"
)

// TestRealGPU boots nothing: it has a machine with GPUs of NVIDIA prove them as each node does before it is one. `test/gpu/run` runs it there.
func TestRealGPU(t *testing.T) {
	m := Machine{}
	want := Wanted{Type: cmp.Or(os.Getenv("MUSTER_GPU_TYPE"), "p5.4xlarge")}
	look := func(name string, do func() (string, error)) {
		began := time.Now()
		said, err := do()
		t.Logf("%s: %q, %v, after %s", name, said, err, time.Since(began).Round(time.Millisecond))
		if err != nil {
			t.Errorf("%s fails on a machine that is well: %v", name, err)
		}
	}
	t.Logf("devices: %+v", hardwareOf(m.devices()))
	look("Health", func() (string, error) { return m.Health(t.Context(), want) })
	look("Health, again", func() (string, error) { return m.Health(t.Context(), want) })
	if m.persists(t.Context()) { // otherwise it would be set
		look("StartGPUs", func() (string, error) { return m.StartGPUs(t.Context(), false) })
	} else {
		t.Log("StartGPUs: not run, persistence mode is off")
	}
	look("what is wrong", func() (string, error) {
		wrong, blind := m.Faults(t.Context())
		if len(wrong) > 0 {
			t.Errorf("faults of sound GPUs: %q", wrong)
		}
		return "blind: " + blind, nil
	})
	if said, err := m.Health(t.Context(), Wanted{Type: "p5.48xlarge"}); err == nil {
		t.Errorf("a machine that lacks seven GPUs is taken for well: %s", said)
	} else {
		t.Logf("as a p5.48xlarge: %v", err)
	}
}
