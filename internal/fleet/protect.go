package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/slurm"
)

// Tally has, for each queue, the boots that have failed since one succeeded.
type Tally map[string]Streak

// Streak are boots that failed in a row.
type Streak struct {
	// Boots is how many, and Alike how many of the last ones failed in the same way.
	Boots, Alike int
	// Last is the compute resource of the last one, and way how it failed.
	Last slurm.Resource
	way  string
}

// Failed is a node whose boot failed. Why is empty where no machine was paid for.
type Failed struct {
	Node
	Why string
}

// Count adds what a round saw: rose are nodes that came up, failed those whose
// boot failed.
func (t Tally) Count(rose []Node, failed []Failed) {
	for _, n := range failed {
		s, way := t[n.Resource.Queue], wayOf(n.Why)
		s.Boots++
		s.Alike++
		if way == "" || way != s.way || n.Resource != s.Last {
			s.Alike = min(1, len(way))
		}
		s.Last, s.way = n.Resource, way
		t[n.Resource.Queue] = s
	}
	for _, n := range rose {
		delete(t, n.Resource.Queue)
	}
}

// wayOf is a reason without its numbers: addresses, times and names of instances
// differ where the cause is the same.
func wayOf(why string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' { // 190 and 190.5
			return -1
		}
		return r
	}, why)
}

// Rate is what an instance of a compute resource costs an hour, 0 if unknown.
type Rate struct {
	Type string
	USD  float64
}

const (
	// costlyHour is the price of an hour from which a machine counts as costly. A machine
	// without a known price counts as costly, too.
	costlyHour = 10
	// How many boots have to fail alike, of costly machines and of others, to rule out chance.
	alikeCostly, alikeCheap = 2, 3
)

// alike is how many boots may fail in the same way.
func (r Rate) alike() int {
	if r.USD > 0 && r.USD < costlyHour {
		return alikeCheap
	}
	return alikeCostly
}

func (r Rate) String() string {
	if r.USD <= 0 {
		return r.Type + ", whose price is not in the list"
	}
	return fmt.Sprintf("%s at $%.2f an hour", r.Type, r.USD)
}

// Protect names the queues whose nodes fail to boot again and again, with the
// reason. A queue in which a job runs is left alone: some of its nodes are well. Where
// machines are paid for, few boots that fail in the same way are enough, unless more of
// the queue's nodes are booting yet: the next ones would fail so, too.
func (t Tally) Protect(nodes []Node, limits Limits) map[string]string {
	if limits.Failures <= 0 {
		return nil
	}
	runs, booting := map[string]bool{}, map[string]int{}
	for _, n := range nodes {
		switch {
		case n.State == Up && n.Busy:
			runs[n.Resource.Queue] = true
		case n.State == PoweringUp:
			booting[n.Resource.Queue]++
		}
	}
	queues := map[string]string{}
	for _, q := range slices.Sorted(maps.Keys(t)) {
		s := t[q]
		rate, paid := limits.Rates[s.Last]
		switch {
		case runs[q]:
		case s.Boots >= limits.Failures:
			queues[q] = fmt.Sprintf("%d nodes in a row failed to boot", s.Boots)
		case paid && s.Alike >= rate.alike() && s.Alike > booting[q]:
			queues[q] = fmt.Sprintf("%d nodes in a row failed to boot in the same way", s.Alike)
		default:
			continue
		}
		if _, why := queues[q]; why && paid {
			queues[q] += fmt.Sprintf(" (each try is paid: %s)", rate)
		}
	}
	return queues
}
