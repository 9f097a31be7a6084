package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// slot is a node that may be given to a model.
type slot struct {
	name slurm.NodeName
	node Node
	// pool is the key of the slot's pool.
	pool string
}

// pool is the nodes of a queue that have the same instance types. A model of
// several nodes gets all of them from one pool, for a job goes at the pace of
// its slowest node.
type pool struct {
	key   string
	gpus  bool
	slots []slot
}

// Misfit says which model has no room, and why.
type Misfit struct {
	// Model is its place in the workload's list.
	Model   int
	Message string
	// Hint is what to change.
	Hint string
}

func (m *Misfit) Error() string { return m.Message }

func misfit(model int, hint, format string, args ...any) *Misfit {
	return &Misfit{Model: model, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Fits fails with a Misfit if a cluster's nodes are too few for the models of a workload.
func Fits(c *spec.Cluster, w *spec.Workload) error {
	_, _, err := divide(c, w.Models)
	return err
}

// divide gives every model its nodes: whole nodes in the file's order, then
// parts of nodes packed on what is left.
func divide(c *spec.Cluster, models []spec.Model) ([]Trained, []Spare, error) {
	all := make([]Trained, len(models))
	for i, m := range models {
		all[i] = Trained{Name: m.Name, Queue: m.Queue, Nodes: m.Nodes, Parameters: m.Parameters}
		if m.Queue == "" {
			all[i].Queue = trainingQueue(c)
		}
	}
	spare := []Spare{}
	for _, q := range c.Scheduling.Queues {
		var mine []int
		for i := range all {
			if all[i].Queue == q.Name {
				mine = append(mine, i)
			}
		}
		left, err := divideQueue(q, models, all, mine)
		if err != nil {
			return nil, nil, err
		}
		spare = append(spare, left...)
	}
	return all, spare, nil
}

// trainingQueue is where a model trains that names no queue: the first with GPUs.
func trainingQueue(c *spec.Cluster) string {
	for _, q := range c.Scheduling.Queues {
		for _, r := range q.ComputeResources {
			if nodeOf(r).GPUs > 0 {
				return q.Name
			}
		}
	}
	if len(c.Scheduling.Queues) == 0 {
		return ""
	}
	return c.Scheduling.Queues[0].Name
}

func divideQueue(q spec.Queue, models []spec.Model, all []Trained, mine []int) ([]Spare, error) {
	pools := poolsOf(q)
	home, err := choosePools(q, pools, models, mine)
	if err != nil {
		return nil, err
	}
	for _, i := range mine {
		if n := models[i].Nodes; n > 0 {
			p := &pools[home[i]]
			all[i].give(p.slots[:n])
			p.slots = p.slots[n:]
		}
	}
	return packQueue(q, pools, models, all, mine)
}

func poolsOf(q spec.Queue) []pool {
	var pools []pool
	for _, r := range q.ComputeResources {
		key := strings.Join(r.InstanceTypes, " ")
		node := nodeOf(r)
		i := slices.IndexFunc(pools, func(p pool) bool { return p.key == key })
		if i < 0 {
			i, pools = len(pools), append(pools, pool{key: key, gpus: node.GPUs > 0})
		}
		for n := range r.MaxCount {
			name := slurm.NodeName{Resource: slurm.Resource{Queue: q.Name, Name: r.Name}, Static: n < r.MinCount, Number: n + 1}
			if !name.Static {
				name.Number -= r.MinCount
			}
			pools[i].slots = append(pools[i].slots, slot{name: name, node: node, pool: key})
		}
	}
	return pools
}

// choosePools finds a pool for each model of whole nodes: the first with room, in
// the file's order. If that does not work out, the largest model comes first and
// goes where the least room is left over.
func choosePools(q spec.Queue, pools []pool, models []spec.Model, mine []int) (map[int]int, error) {
	order := slices.DeleteFunc(slices.Clone(mine), func(i int) bool { return models[i].Nodes == 0 })
	asked, total := 0, 0
	room := roomOf(pools)
	for _, n := range room {
		total += n
	}
	over := -1
	for _, i := range order {
		if asked += models[i].Nodes; asked > total && over < 0 {
			over = i
		}
	}
	if over >= 0 {
		return nil, misfit(over, "give the models fewer Nodes, or the queue a larger MaxCount",
			"the models of queue %s ask for %d nodes, %d more than its %d%s", q.Name, asked, asked-total, total, withGPUs(pools))
	}
	home, failed := assign(room, models, order, false)
	if failed >= 0 {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(models[b].Nodes, models[a].Nodes) })
		home, failed = assign(room, models, order, true)
	}
	if failed >= 0 {
		return nil, misfit(failed, "a model's nodes are all of one kind: give it fewer Nodes, or one compute resource a larger MaxCount",
			"%s asks for %s with the same instance type, and queue %s does not have as many left", models[failed].Name, count.Of(models[failed].Nodes, "node"), q.Name)
	}
	return home, nil
}

// roomOf is how many nodes of each pool models can have: all of them, but of a
// queue that has GPUs none without.
func roomOf(pools []pool) []int {
	room := make([]int, len(pools))
	none := !slices.ContainsFunc(pools, func(p pool) bool { return p.gpus })
	for i, p := range pools {
		if p.gpus || none {
			room[i] = len(p.slots)
		}
	}
	return room
}

// withGPUs says so of nodes where a queue has others, too.
func withGPUs(pools []pool) string {
	some := slices.ContainsFunc(pools, func(p pool) bool { return p.gpus })
	if some && slices.ContainsFunc(pools, func(p pool) bool { return !p.gpus }) {
		return " with GPUs"
	}
	return ""
}

// assign gives each model, in an order, the first pool with room, or the one
// with the least. It names the model that found none, or -1.
func assign(room []int, models []spec.Model, order []int, tight bool) (home map[int]int, failed int) {
	room, home = slices.Clone(room), map[int]int{}
	for _, i := range order {
		best := -1
		for p := range room {
			if room[p] >= models[i].Nodes && (best < 0 || tight && room[p] < room[best]) {
				best = p
			}
		}
		if best < 0 {
			return nil, i
		}
		home[i] = best
		room[best] -= models[i].Nodes
	}
	return home, -1
}

// give gives whole nodes to a model.
func (t *Trained) give(slots []slot) {
	t.slots, t.NodeList = slices.Clone(slots), hostList(slots)
	for _, s := range slots {
		t.GPUs += s.node.GPUs
	}
}

// packQueue packs the models that need a part of a node, and says what is left.
func packQueue(q spec.Queue, pools []pool, models []spec.Model, all []Trained, mine []int) ([]Spare, error) {
	var free []slot
	for _, p := range pools {
		free = append(free, p.slots...)
	}
	var jobs, sizes, room []int
	for _, i := range mine {
		if models[i].GPUs > 0 {
			jobs, sizes = append(jobs, i), append(sizes, models[i].GPUs)
		}
	}
	for _, s := range free {
		room = append(room, s.node.GPUs)
	}
	at, ok := Pack(sizes, room)
	if q.JobExclusive {
		at, ok = alone(sizes, room)
	}
	if !ok {
		return nil, misfit(jobs[len(jobs)-1], "give other models fewer Nodes, or the queue a larger MaxCount",
			"the models on parts of nodes (%s GPUs) do not fit on the %s that queue %s has left", numbers(sizes), count.Of(len(free), "node"), q.Name)
	}
	used := make([]int, len(free))
	for k, i := range jobs {
		s := free[at[k]]
		all[i].Part, all[i].Nodes, all[i].GPUs, all[i].FirstGPU = true, 1, sizes[k], used[at[k]]
		all[i].slots, all[i].NodeList = []slot{s}, s.name.String()
		used[at[k]] += sizes[k]
	}
	var left []Spare
	for _, p := range pools {
		left = append(left, spareOf(q, p.key, free, used))
	}
	return left, nil
}

// spareOf are the nodes of a pool that are left over. Some GPUs of free slots are in use.
func spareOf(q spec.Queue, pool string, free []slot, used []int) Spare {
	left := Spare{Queue: q.Name, InstanceTypes: strings.Fields(pool), pool: pool}
	var whole []slot
	for i, s := range free {
		switch {
		case s.pool != pool:
		case used[i] == 0:
			whole = append(whole, s)
		default:
			left.PartGPUs += s.node.GPUs - used[i]
		}
	}
	left.Nodes, left.NodeList = len(whole), hostList(whole)
	return left
}

func numbers(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ", ")
}

// hostList is nodes as Slurm writes them: gpu-dy-p5e-[1-11,14].
func hostList(slots []slot) string {
	var parts []string
	for len(slots) > 0 {
		var names []string
		first := slots[0].name
		for len(slots) > 0 && slots[0].name.Resource == first.Resource && slots[0].name.Static == first.Static {
			names, slots = append(names, slots[0].name.String()), slots[1:]
		}
		parts = append(parts, slurm.Compress(names))
	}
	return strings.Join(parts, ",")
}
