package cli

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify"
)

// TestBurnIn_knows_all_suites holds that muster.yaml knows each suite of `muster verify`: it takes
// it, or says why a new machine cannot run it.
func TestBurnIn_knows_all_suites(t *testing.T) {
	var taken []string
	for _, name := range verify.Suites() {
		w, problems := spec.ParseWorkload("muster.yaml", []byte("BurnIn: {Suites: ["+name+"]}"), nil)
		if w != nil {
			taken = append(taken, name)
			continue
		}
		if all := problems.All(); len(all) != 1 || !strings.Contains(all[0].Message, "needs Slurm's nodes") {
			t.Errorf("%s: %+v", name, all)
		}
	}
	if got, want := strings.Join(taken, " "), "host gpu efa nccl collectives storage"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestBurnInSection_never_takes_an_unknown_price_for_nothing holds it for sums of which a part is known.
func TestBurnInSection_never_takes_an_unknown_price_for_nothing(t *testing.T) {
	unknown := plan.Cost{Missing: []string{"1 × p5e.48xlarge"}}
	s := burnInSection(&plan.Estimate{BurnIn: []plan.BurnIn{
		{Queue: "a", Minutes: 15, Node: unknown, LeastNodes: 3, Least: plan.Cost{USD: 5, Missing: []string{"2 × p5e.48xlarge"}}},
		{Queue: "b", Minutes: 15, Node: unknown},
	}})
	if got, want := strings.Join(s.Table[1], "|"), "  a|up to 15 min|unknown|3 nodes|unknown"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := strings.Join(s.Table[2], "|"), "  b|up to 15 min|unknown|-|-"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := s.Lines[len(s.Lines)-1], "the price is not known: p5e.48xlarge"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
