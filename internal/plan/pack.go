package plan

import (
	"cmp"
	"slices"
)

// Pack puts jobs that need some GPUs each on nodes that have some GPUs each, on
// as few nodes as it can: the better of best fit, the largest job first, and
// first fit in the order given. The answer is the node of each job. It is false
// if they do not fit.
func Pack(jobs, nodes []int) ([]int, bool) {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	first, firstUsed := place(jobs, nodes, order, firstFit)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(jobs[b], jobs[a]) })
	best, bestUsed := place(jobs, nodes, order, bestFit)
	switch {
	case best == nil:
		return first, first != nil
	case first != nil && firstUsed < bestUsed:
		return first, true
	}
	return best, true
}

// alone gives each job a node of its own, for queues whose jobs share none.
func alone(jobs, nodes []int) ([]int, bool) {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(jobs[b], jobs[a]) })
	at, _ := place(jobs, nodes, order, func(free, size int) int {
		if free < size {
			return -1
		}
		return free
	})
	return at, at != nil
}

// place gives each job, in an order, the node with the least score that is not
// negative. It also says how many nodes are used. There is no answer if a job
// finds no node.
func place(jobs, nodes, order []int, score func(free, size int) int) (at []int, used int) {
	free := slices.Clone(nodes)
	at = make([]int, len(jobs))
	for _, job := range order {
		chosen, least := -1, 0
		for n := range nodes {
			if jobs[job] > free[n] {
				continue
			}
			if s := score(free[n], nodes[n]); s >= 0 && (chosen < 0 || s < least) {
				chosen, least = n, s
			}
		}
		if chosen < 0 {
			return nil, 0
		}
		if free[chosen] == nodes[chosen] {
			used++
		}
		at[job] = chosen
		free[chosen] -= jobs[job]
	}
	return at, used
}

// unused is added to the score of a node that has no job yet.
const unused = 1 << 20

func bestFit(free, size int) int {
	if free == size {
		return unused + free
	}
	return free
}

func firstFit(free, size int) int {
	if free == size {
		return unused
	}
	return 0
}
