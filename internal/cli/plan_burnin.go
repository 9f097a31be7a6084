package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/page"
)

// burnInSection says what new nodes take and cost before their first job.
func burnInSection(e *plan.Estimate) page.Section {
	s := page.Section{Table: page.Table{{"Burn-in", "a new node", "costs", "always on", "all at once"}}}
	var missing []string
	for _, b := range e.BurnIn {
		always, together := "-", "-"
		if b.LeastNodes > 0 {
			always, together = many(b.LeastNodes, "node"), upTo(b.Least)
		}
		s.Add("  "+b.Queue, fmt.Sprintf("up to %d min", b.Minutes), upTo(b.Node), always, together)
		for _, m := range b.Node.Missing {
			if name := strings.TrimPrefix(m, "1 × "); !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
	}
	if len(e.BurnIn) > 0 {
		s.Lines = append(s.Lines, "before the first job of a new node, also of one that replaces another: at the price on demand, or of --price, of the dearest instance type")
	}
	if len(missing) > 0 {
		s.Lines = append(s.Lines, "the price is not known: "+strings.Join(missing, ", "))
	}
	return s
}

// upTo is the most that something costs, if all of it is known.
func upTo(c plan.Cost) string {
	if len(c.Missing) > 0 {
		return "unknown"
	}
	return "up to " + c.Words()
}
