package plan_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/plan"
)

func same(n, size int) []int { return slices.Repeat([]int{size}, n) }

func TestPack(t *testing.T) {
	for _, row := range []struct {
		name        string
		jobs, nodes []int
		used        int
	}{
		{"two_halves", []int{4, 4}, same(3, 8), 1},
		{"the_guides_second_example", []int{2, 3, 3}, same(3, 8), 1},
		{"both_of_them", []int{8, 4, 4, 2, 3, 3}, same(3, 8), 3},
		{"none", nil, same(2, 8), 0},
		{"nodes_of_two_sizes", []int{4, 8}, []int{8, 4}, 2},
		{"small_first", []int{1, 7, 2, 6, 3, 5}, same(3, 8), 3},
	} {
		at, ok := plan.Pack(row.jobs, row.nodes)
		if used := usedNodes(at); !ok || used != row.used {
			t.Errorf("%s: %v on %d nodes, want %d", row.name, at, used, row.used)
		}
	}
	for _, row := range [][2][]int{{{9}, {8}}, {{5, 4}, {8}}, {{1}, nil}, {{4, 4, 4}, {8}}} {
		if at, ok := plan.Pack(row[0], row[1]); ok {
			t.Errorf("%v fit on %v: %v", row[0], row[1], at)
		}
	}
}

func usedNodes(at []int) int {
	return len(slices.Compact(slices.Sorted(slices.Values(at))))
}

// TestPack_holds_its_laws: no node has more than it can, no fewer nodes than the
// GPUs need are claimed, never more than first fit uses, and for a few jobs on
// equal nodes not more than the best packing.
func TestPack_holds_its_laws(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 4))
		size := []int{4, 8}[r.IntN(2)]
		jobs := make([]int, 1+r.IntN(9))
		sum := 0
		for i := range jobs {
			jobs[i] = 1 + r.IntN(size)
			sum += jobs[i]
		}
		at, ok := plan.Pack(jobs, same(len(jobs), size))
		if !ok {
			t.Fatalf("seed %d: %v do not fit on as many nodes", seed, jobs)
		}
		load := make([]int, len(jobs))
		for i, n := range at {
			load[n] += jobs[i]
		}
		used := usedNodes(at)
		switch {
		case slices.Max(load) > size:
			t.Errorf("seed %d: %v on %v is too much", seed, jobs, at)
		case used < (sum+size-1)/size:
			t.Errorf("seed %d: %v are %d nodes at least, not %d", seed, jobs, (sum+size-1)/size, used)
		case used > firstFit(jobs, size):
			t.Errorf("seed %d: %v are %d nodes, first fit has %d", seed, jobs, used, firstFit(jobs, size))
		case used != fewest(jobs, size):
			t.Errorf("seed %d: %v are %d nodes, %d would do", seed, jobs, used, fewest(jobs, size))
		}
	}
}

func firstFit(jobs []int, size int) int {
	var load []int
	for _, j := range jobs {
		i := slices.IndexFunc(load, func(l int) bool { return l+j <= size })
		if i < 0 {
			i, load = len(load), append(load, 0)
		}
		load[i] += j
	}
	return len(load)
}

// fewest tries all packings.
func fewest(jobs []int, size int) int {
	best := len(jobs)
	var try func(i int, load []int)
	try = func(i int, load []int) {
		switch {
		case len(load) >= best:
		case i == len(jobs):
			best = len(load)
		default:
			for k := range load {
				if load[k]+jobs[i] <= size {
					load[k] += jobs[i]
					try(i+1, load)
					load[k] -= jobs[i]
				}
			}
			try(i+1, append(slices.Clone(load), jobs[i]))
		}
	}
	try(0, nil)
	return best
}
