package data

import (
	"container/heap"
	"iter"
)

// together yields what sorted runs have, in order. Of equals what is of an earlier run comes first.
func together(runs []iter.Seq2[note, error]) iter.Seq2[note, error] {
	return func(yield func(note, error) bool) {
		var h runHeap
		for i, seq := range runs {
			pull, stop := iter.Pull2(seq)
			defer stop()
			r := run{pull: pull, place: i}
			if r.step() {
				h = append(h, r)
			}
		}
		heap.Init(&h)
		for len(h) > 0 {
			if !yield(h[0].now, h[0].err) || h[0].err != nil {
				return
			}
			if h[0].step() {
				heap.Fix(&h, 0)
			} else {
				heap.Pop(&h)
			}
		}
	}
}

// run is a sorted run, of which the first note is seen already.
type run struct {
	pull  func() (note, error, bool)
	place int
	now   note
	err   error
}

func (r *run) step() (ok bool) {
	r.now, r.err, ok = r.pull()
	return ok
}

// runHeap has the run on top whose note is the next one.
type runHeap []run

func (h runHeap) Len() int { return len(h) }

func (h runHeap) Less(i, j int) bool {
	if h[i].now.Path != h[j].now.Path {
		return h[i].now.Path < h[j].now.Path
	}
	return h[i].place < h[j].place
}

func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)   { *h = append(*h, x.(run)) }

func (h *runHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
