package data

import (
	"context"
	"iter"
	"sync"
)

// aheadOf are how many elements a stream is ahead, in so many batches.
const (
	aheadOf      = 512
	aheadBatches = 16
)

// ahead begins a stream at once, in a goroutine of its own which the group waits for. Its end is that of the stream or
// of the context.
func ahead[T any](ctx context.Context, group *sync.WaitGroup, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	batches := make(chan []either[T], aheadBatches)
	group.Go(func() {
		defer close(batches)
		var b []either[T]
		for v, err := range seq {
			b = append(b, either[T]{v, err})
			if len(b) < aheadOf && len(batches) > 0 {
				continue
			}
			select {
			case batches <- b:
				b = make([]either[T], 0, aheadOf)
			case <-ctx.Done():
				return
			}
		}
		if len(b) > 0 {
			select {
			case batches <- b:
			case <-ctx.Done():
			}
		}
	})
	return func(yield func(T, error) bool) {
		for b := range batches {
			for _, e := range b {
				if !yield(e.value, e.err) {
					return
				}
			}
		}
		if err := context.Cause(ctx); err != nil {
			var none T
			yield(none, err)
		}
	}
}

type either[T any] struct {
	value T
	err   error
}
