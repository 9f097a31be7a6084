package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/muster-hpc/muster/internal/job/report"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
)

// reportVerification is what muster's own verifications held. It is in no row and not in the total: it was never to train.
type reportVerification struct {
	Jobs      int     `json:"jobs"`
	NodeHours float64 `json:"node_hours"`
	// USD is absent where no price is known.
	USD *float64 `json:"usd,omitempty"`
}

// apart puts a run of `muster verify` aside, where nobody asked for its job.
func (g *gathered) apart(h slurm.Held, o reportOptions) bool {
	if h.Name != verify.JobName || len(o.ids) > 0 {
		return false
	}
	if g.proofs[h.ID] == nil {
		g.proofs[h.ID] = &report.Job{}
	}
	g.proofs[h.ID].Runs = append(g.proofs[h.ID].Runs, h)
	return true
}

// proven is where the time of verifications went.
func (g *gathered) proven() (all []report.Split) {
	for _, id := range slices.Sorted(maps.Keys(g.proofs)) {
		all = append(all, report.Of(*g.proofs[id], g.now)...)
	}
	return all
}

// verification adds up verifications, nil if there were none.
func (g *gathered) verification() *reportVerification {
	_, total := report.Rows(g.proven(), report.ByJob, g.window, g.nodes)
	if total.Jobs == 0 {
		return nil
	}
	v := &reportVerification{Jobs: total.Jobs, NodeHours: total.Held.Hours()}
	if total.Unpriced < total.Held {
		v.USD = &total.USD
	}
	return v
}

// note says that they are counted apart.
func (v *reportVerification) note() (lines []string) {
	if v == nil {
		return nil
	}
	text := fmt.Sprintf("verification: %s, %s of nodes", count.Of(v.Jobs, "job"), hours(v.NodeHours))
	if v.USD != nil {
		text += ", " + count.Dollars(*v.USD)
	}
	return []string{text + ", not counted above"}
}
