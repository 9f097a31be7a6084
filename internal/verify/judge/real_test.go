package judge_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
)

// TestRealGPU judges what a real machine with one H200 told (testdata/h200.json, recorded by `muster agent verify scan`): of no known type it
// is sound, and what it lacks as one of AWS's machines with eight of these is found.
func TestRealGPU(t *testing.T) {
	text, err := os.ReadFile("testdata/h200.json")
	if err != nil {
		t.Fatal(err)
	}
	var f verify.Facts
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ instance, want string }{
		{"", "skip gpu-nvlinks, skip gpu-topology, skip gpu-fabric, skip gpu-fabric-manager, skip gpu-fabric-version, blind gpu-dcgm"},
		{"p5en.48xlarge", "fail gpu-count, fail gpu-nvlinks, blind gpu-topology, skip gpu-fabric, skip gpu-fabric-manager, skip gpu-fabric-version, blind gpu-dcgm"},
	} {
		var others []string
		for _, r := range judge.GPU("n", f, expect.Expected(expect.Subject{Role: expect.Compute, Type: c.instance})) {
			if r.Verdict != verify.Pass {
				others = append(others, string(r.Verdict)+" "+r.Check)
			}
		}
		if got := strings.Join(others, ", "); got != c.want {
			t.Errorf("as %q: %s", c.instance, got)
		}
	}
}
