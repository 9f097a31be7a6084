package judge

import (
	"fmt"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
)

// topology wants NVLink between all pairs of GPUs. How network devices lie beside GPUs is seen, and nothing says what is right there.
func topology(f *verify.Facts, _ expect.Expectation) []sight {
	if n, blind := f.GPU.OnBus.See(); blind == "" && n == 0 {
		return []sight{{none: noGPUs}}
	}
	t, blind := f.GPU.Topology.See()
	if blind != "" {
		return []sight{{blind: blind}}
	}
	pairs, others := 0, []string{}
	for i, a := range t.Names {
		for j := i + 1; j < len(t.Names) && i < len(t.Paths) && strings.HasPrefix(a, "GPU"); j++ {
			b := t.Names[j]
			if !strings.HasPrefix(b, "GPU") || j >= len(t.Paths[i]) {
				continue
			}
			pairs++
			if way := t.Paths[i][j]; !strings.HasPrefix(way, "NV") {
				others = append(others, fmt.Sprintf("%s to %s: %s", a, b, way))
			}
		}
	}
	switch {
	case pairs == 0:
		return []sight{{blind: "nvidia-smi shows the ways of fewer than two GPUs"}}
	case len(others) > 0:
		const most = 8
		return []sight{{text: fmt.Sprintf("no NVLink between %d of %s", len(others), count.Of(pairs, "pair")), verdict: verify.Fail, evidence: others[:min(most, len(others))]}}
	}
	return []sight{{text: "NVLink between " + count.Of(pairs, "pair"), verdict: verify.Pass}}
}

// dcgm is DCGM's diagnosis. What it has against settings alone is a warning.
func dcgm(f *verify.Facts, _ expect.Expectation) []sight {
	if n, blind := f.GPU.OnBus.See(); blind == "" && n == 0 {
		return []sight{{none: noGPUs}}
	}
	d, blind := f.GPU.DCGM.See()
	switch {
	case blind != "":
		return []sight{{blind: blind}}
	case len(d.Failed) > 0:
		return []sight{{text: count.Of(len(d.Failed), "failed test"), verdict: verify.Fail, evidence: d.Failed}}
	case len(d.Settings) > 0:
		return []sight{{text: count.Of(len(d.Settings), "setting"), verdict: verify.Warn, why: "DCGM wants something set otherwise", evidence: d.Settings}}
	case d.Passed == 0:
		return []sight{{blind: "DCGM ran no test"}}
	}
	return []sight{{text: count.Of(d.Passed, "test") + " passed", verdict: verify.Pass}}
}
