package fleet

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Strategy says what is to be done for jobs that cannot have all of their nodes:
// the cluster file's ScalingStrategy.
type Strategy string

// Strategies. The empty one is AllOrNothing.
const (
	// AllOrNothing starts all instances of a job in one request that succeeds whole
	// or not at all: nothing is paid for that no job can use.
	AllOrNothing Strategy = "all-or-nothing"
	// GreedyAllOrNothing starts what there is, and then divides it: jobs in their
	// order get all of their nodes or none.
	GreedyAllOrNothing Strategy = "greedy-all-or-nothing"
	// BestEffort starts what there is, and leaves it to Slurm.
	BestEffort Strategy = "best-effort"
)

// PendingJob is a job that waits for nodes to be started.
type PendingJob struct {
	Job   int
	Nodes []string
}

// Orders divides nodes that are to be launched. Pending jobs come in the order in which
// jobs are to be served; a node that several wait for is the first one's. Each
// node is in one order, and an order is about one compute resource: a provider
// cannot start machines of several in one request. So a job over several has an
// order for each, and Settle gives back the others where one fails.
func Orders(s Strategy, nodes []Node, pending []PendingJob) []provider.Order {
	left := make(map[string]slurm.Resource, len(nodes))
	for _, n := range nodes {
		left[n.Name] = n.Resource
	}
	var whole []provider.Order
	if s == AllOrNothing || s == "" {
		for _, job := range pending {
			if mine := take(left, job.Nodes, 2); len(mine) > 0 {
				whole = append(whole, byResource(provider.Order{Whole: true}, mine)...)
			}
		}
	}
	return append(whole, byResource(provider.Order{}, left)...)
}

// take takes a job's nodes out of those that are left, unless they are fewer
// than least.
func take(left map[string]slurm.Resource, wanted []string, least int) map[string]slurm.Resource {
	mine := map[string]slurm.Resource{}
	for _, n := range wanted {
		if r, ok := left[n]; ok {
			mine[n] = r
		}
	}
	if len(mine) < least {
		return nil
	}
	for n := range mine {
		delete(left, n)
	}
	return mine
}

// byResource makes an order like the given one for each compute resource.
func byResource(like provider.Order, nodes map[string]slurm.Resource) []provider.Order {
	of := map[slurm.Resource][]string{}
	for n, r := range nodes {
		of[r] = append(of[r], n)
	}
	var all []provider.Order
	for r, names := range of {
		slices.SortFunc(names, compareNames)
		o := like
		o.Resource, o.Nodes = r, names
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b provider.Order) int { return strings.Compare(a.Resource.String(), b.Resource.String()) })
	return all
}

// compareNames puts node 2 before node 10.
func compareNames(a, b string) int {
	if len(a) != len(b) && strings.TrimRight(a, "0123456789") == strings.TrimRight(b, "0123456789") {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// Settlement is what becomes of instances after orders were carried out.
type Settlement struct {
	// Moves give the instance of one node to another of the same compute resource.
	Moves map[string]string
	// GiveBack are nodes whose instance is ended, or given to another: the job, as
	// the value, did not get all of its nodes.
	GiveBack map[string]int
}

// Settle decides what becomes of the nodes of jobs that did not get all of them.
// lacking says of a node that it got no instance; nodes that are not in it
// and not in orders had one before. Machines that are not given to another job
// must be ended at once, before they cost for long.
func Settle(s Strategy, orders []provider.Order, pending []PendingJob, lacking map[string]bool) Settlement {
	settled := Settlement{Moves: map[string]string{}, GiveBack: map[string]int{}}
	if len(lacking) == 0 || s == BestEffort {
		return settled
	}
	of := map[string]slurm.Resource{}
	for _, o := range orders {
		for _, n := range o.Nodes {
			of[n] = o.Resource
		}
	}
	d := division{left: of, lacking: lacking, settled: settled}
	for _, job := range pending {
		d.claim(job)
	}
	if s == GreedyAllOrNothing {
		d.divide()
	} else {
		for _, c := range d.claims {
			d.refuse(c)
		}
	}
	return d.settled
}

// division gives instances to jobs.
type division struct {
	left    map[string]slurm.Resource // nodes that no job claimed yet
	lacking map[string]bool
	claims  []claim // of jobs that lack nodes, in order
	settled Settlement
}

// claim is a job with its nodes of this launch.
type claim struct {
	job   int
	nodes map[string]slurm.Resource
	order []string
}

func (d *division) claim(job PendingJob) {
	c := claim{job: job.Job, nodes: take(d.left, job.Nodes, 1)}
	if len(c.nodes) == 0 {
		return
	}
	lacks := false
	for n := range c.nodes {
		c.order = append(c.order, n)
		lacks = lacks || d.lacking[n]
	}
	slices.SortFunc(c.order, compareNames)
	if lacks {
		d.claims = append(d.claims, c)
	}
}

// refuse gives back what a job got, since it lacks some.
func (d *division) refuse(c claim) {
	for _, n := range c.order {
		if !d.lacking[n] {
			d.settled.GiveBack[n] = c.job
		}
	}
}

// divide serves the jobs that lack nodes in their order, from what all of them
// have got. A job that cannot be served gets nothing, and leaves its part to
// those behind it.
func (d *division) divide() {
	spare := map[slurm.Resource][]string{}
	for _, c := range d.claims {
		for _, n := range c.order {
			if !d.lacking[n] {
				spare[c.nodes[n]] = append(spare[c.nodes[n]], n)
			}
		}
	}
	var served, refused []claim
	for _, c := range d.claims {
		need := map[slurm.Resource]int{}
		for _, r := range c.nodes {
			need[r]++
		}
		if !covers(spare, need) {
			refused = append(refused, c)
			continue
		}
		served = append(served, c)
		for r, n := range need {
			spare[r] = spare[r][:len(spare[r])-n]
		}
	}
	d.move(served, refused)
}

// covers tells whether there is enough. Which instances are counted does not
// matter: those of one resource are alike.
func covers(spare map[slurm.Resource][]string, need map[slurm.Resource]int) bool {
	for r, n := range need {
		if len(spare[r]) < n {
			return false
		}
	}
	return true
}

// move gives what the refused have to those that are served and lack it.
func (d *division) move(served, refused []claim) {
	free := map[slurm.Resource][]string{}
	for _, c := range refused {
		for _, n := range c.order {
			if !d.lacking[n] {
				free[c.nodes[n]] = append(free[c.nodes[n]], n)
				d.settled.GiveBack[n] = c.job
			}
		}
	}
	for _, c := range served {
		for _, n := range c.order {
			if r := c.nodes[n]; d.lacking[n] {
				d.settled.Moves[free[r][0]] = n
				free[r] = free[r][1:]
			}
		}
	}
}
