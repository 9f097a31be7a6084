package fleet

import (
	"fmt"
	"maps"
	"slices"
)

// Tally counts, for each queue, the boots that have failed since one succeeded.
type Tally map[string]int

// Count adds what a round saw: rose are nodes that came up, failed those whose
// boot failed.
func (t Tally) Count(rose, failed []Node) {
	for _, n := range failed {
		t[n.Resource.Queue]++
	}
	for _, n := range rose {
		delete(t, n.Resource.Queue)
	}
}

// Protect names the queues whose nodes fail to boot again and again, with the
// reason. A queue in which a job runs is left alone: some of its nodes are well.
func (t Tally) Protect(nodes []Node, limits Limits) map[string]string {
	if limits.Failures <= 0 {
		return nil
	}
	runs := map[string]bool{}
	for _, n := range nodes {
		if n.State == Up && n.Busy {
			runs[n.Resource.Queue] = true
		}
	}
	queues := map[string]string{}
	for _, q := range slices.Sorted(maps.Keys(t)) {
		if t[q] >= limits.Failures && !runs[q] {
			queues[q] = fmt.Sprintf("%d nodes in a row failed to boot", t[q])
		}
	}
	return queues
}
