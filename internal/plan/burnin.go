package plan

import (
	"github.com/muster-hpc/muster/internal/spec"
)

// BurnIn is the most that the burn-in of a queue's new nodes takes and costs. Nodes have the price
// of the dearest instance type: on demand, for spot nodes too, unless the user gave another.
type BurnIn struct {
	Queue string `json:"queue"`
	// Minutes and Node are of one new node, the dearest of the queue's.
	Minutes int  `json:"minutes"`
	Node    Cost `json:"node"`
	// LeastNodes are the nodes at MinCount, Least is what all of them cost, which start at once.
	LeastNodes int  `json:"least_nodes"`
	Least      Cost `json:"least"`
}

// burnIns are those of the queues whose new nodes have one.
func burnIns(q Question, groups []Group) []BurnIn {
	var all []BurnIn
	for _, queue := range q.Cluster.Scheduling.Queues {
		if b := q.Workload.BurnInOf(queue.Name); b != nil {
			all = append(all, burnIn(queue.Name, b, groups, q.Prices))
		}
	}
	return all
}

func burnIn(queue string, b *spec.BurnIn, groups []Group, prices map[string]float64) BurnIn {
	of := BurnIn{Queue: queue, Minutes: b.Minutes}
	for _, g := range groups {
		if g.Queue != queue {
			continue
		}
		hour := dearest(g.InstanceTypes, atMost(g), prices)
		of.Node = dearer(of.Node, priceOf(1, hour, hour.InstanceType))
		of.LeastNodes += g.MinCount
		of.Least = of.Least.plus(priceOf(g.MinCount, hour, hour.InstanceType))
	}
	part := b.Limit().Hours()
	of.Node, of.Least = of.Node.times(part).rounded(), of.Least.times(part).rounded()
	return of
}

// atMost is the way to buy a compute resource's nodes whose price theirs is not above: what a spot
// node costs changes, and is not more than on demand.
func atMost(g Group) string {
	if way := purchase(g); way != "spot" {
		return way
	}
	return "on demand"
}

// dearer is the higher of two costs, and not known if one of them is not.
func dearer(a, b Cost) Cost {
	most := Cost{USD: max(a.USD, b.USD)}
	if missing := a.plus(b).Missing; len(missing) > 0 {
		most = Cost{Missing: missing}
	}
	return most
}
