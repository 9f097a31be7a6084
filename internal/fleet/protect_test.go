package fleet_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Boots that differ in numbers alone failed alike: twice is enough of a costly machine.
func TestProtect_alike(t *testing.T) {
	r := slurm.Resource{Queue: "q", Name: "r"}
	for name, row := range map[string]struct {
		usd       float64
		whys      []string
		protected bool
	}{
		"other_numbers":       {50, []string{"mount 10.0.0.1 failed", "mount 10.0.0.92 failed"}, true},
		"other_words":         {50, []string{"mount failed", "no GPU"}, false},
		"once":                {50, []string{"mount failed"}, false},
		"costs_ten":           {10, []string{"mount failed", "mount failed"}, true},
		"cheap":               {9.99, []string{"mount failed", "mount failed"}, false},
		"cheap_three_times":   {9.99, []string{"mount failed", "mount failed", "mount failed"}, true},
		"price_nobody_knows":  {0, []string{"mount failed", "mount failed"}, true},
		"punctuation_differs": {50, []string{"step / failed", "step : failed"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			limits, tally := costly, fleet.Tally{}
			limits.Rates = map[slurm.Resource]fleet.Rate{r: {Type: "p5", USD: row.usd}}
			node := fleet.Node{Resource: r}
			for _, why := range row.whys {
				tally.Count(nil, []fleet.Failed{{Node: node, Why: why}})
			}
			if got := len(tally.Protect([]fleet.Node{node}, limits)) == 1; got != row.protected {
				t.Errorf("protected: %v", got)
			}
		})
	}
}

// TestTally_takes_measurements_for_alike: how slow each machine is, is not how it failed.
func TestTally_takes_measurements_for_alike(t *testing.T) {
	tally := fleet.Tally{}
	for _, gbps := range []string{"190", "187.5"} {
		tally.Count(nil, []fleet.Failed{{Node: fleet.Node{Name: "n", Resource: slurm.Resource{Queue: "q", Name: "r"}}, Why: "burn in: unfit: all-reduce-bandwidth: bus bandwidth " + gbps + " GB/s"}})
	}
	if got := tally["q"].Alike; got != 2 {
		t.Errorf("%d are alike, want 2", got)
	}
}
