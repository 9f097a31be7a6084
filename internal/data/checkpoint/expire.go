package checkpoint

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/muster-hpc/muster/internal/say/count"
)

// Gone is a checkpoint that a policy lets go, and why.
type Gone struct {
	Dir    string
	Reason string
}

// Expire says which checkpoints go, the oldest of each run first. What is not whole counts for nothing: it goes only if
// as many whole ones as are kept are newer.
func Expire(all []Known, p Policy) []Gone {
	if p.All() {
		return nil
	}
	runs := map[string][]Known{}
	for _, k := range all {
		if k.Step != NoStep {
			runs[path.Dir(k.Dir)] = append(runs[path.Dir(k.Dir)], k)
		}
	}
	var gone []Gone
	for _, run := range runs {
		gone = append(gone, p.expire(run)...)
	}
	slices.SortStableFunc(gone, func(a, b Gone) int { return cmp.Compare(path.Dir(a.Dir), path.Dir(b.Dir)) })
	return gone
}

// expire decides on one run.
func (p Policy) expire(run []Known) []Gone {
	slices.SortFunc(run, func(a, b Known) int { return cmp.Or(cmp.Compare(b.Step, a.Step), cmp.Compare(a.Dir, b.Dir)) })
	var gone []Gone
	whole := 0
	for _, k := range run {
		if whole >= p.Last && !k.Named && !p.every(k) {
			gone = append(gone, Gone{k.Dir, fmt.Sprintf("%s newer", count.Are(p.Last, "whole checkpoint"))})
		}
		if k.Whole {
			whole++
		}
	}
	slices.Reverse(gone)
	return gone
}

func (p Policy) every(k Known) bool { return p.Every > 0 && k.Step%p.Every == 0 }
