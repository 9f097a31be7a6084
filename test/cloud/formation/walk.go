package formation

import (
	"context"
	"slices"
)

// walk visits things in an order of dependence, several at a time.
type walk struct {
	ids   []string
	after func(id string) []string // what must be done before, of ids
	visit func(ctx context.Context, id string) error
	// first ends the walk at the first failure: what goes on is cancelled.
	first bool
}

// atOnce is how many resources are worked on at a time.
const atOnce = 8

// run returns whether all went well. What depends on a failed one is not visited.
func (w walk) run(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type end struct {
		id  string
		err error
	}
	ends := make(chan end)
	left, done := map[string]bool{}, map[string]bool{}
	for _, id := range w.ids {
		left[id] = true
	}
	ready := func(id string) bool {
		for _, other := range w.after(id) {
			if slices.Contains(w.ids, other) && !done[other] {
				return false
			}
		}
		return true
	}
	well, busy := true, 0
	for {
		for _, id := range w.ids {
			if !left[id] || busy == atOnce || !ready(id) || ctx.Err() != nil {
				continue
			}
			delete(left, id)
			busy++
			go func() { ends <- end{id, w.visit(ctx, id)} }()
		}
		if busy == 0 {
			return well && len(left) == 0
		}
		e := <-ends
		busy--
		if done[e.id] = e.err == nil; e.err != nil {
			well = false
			if w.first {
				cancel()
			}
		}
	}
}
