package headnode

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/nodes"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

func TestRatesOf(t *testing.T) {
	got := ratesOf([]nodes.Resource{
		{Resource: slurm.Resource{Queue: "q", Name: "two"}, Types: []string{"p5.48xlarge", "p4d.24xlarge"}},
		{Resource: slurm.Resource{Queue: "q", Name: "unpriced"}, Types: []string{"p9.huge"}},
		{Resource: slurm.Resource{Queue: "q", Name: "reserved"}},
	})
	want := map[slurm.Resource]fleet.Rate{
		{Queue: "q", Name: "two"}:      {Type: "p5.48xlarge", USD: 55.04},
		{Queue: "q", Name: "unpriced"}: {Type: "p9.huge"},
		{Queue: "q", Name: "reserved"}: {Type: "a reservation's instance"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
