package store

import (
	"context"
	"io"
	"math"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// pace is the rate of all bodies of a bucket, in both directions together. The zero value has no limit.
type pace struct {
	limiter *rate.Limiter
	turns   *semaphore.Weighted
	most    int64 // bytes of uploads that are under way at once
}

// A few are let through at once: as many as the transport reads at a time, or what a slow pace takes a second for.
const burstBytes = 64 << 10

// underWay is how long a pace takes for what is under way at once: others wait for their turn, so that a push that is ended has sent some files
// and parts, and not a piece of each.
const underWay = 4 // seconds

func newPace(bytesPerSecond int64) pace {
	if bytesPerSecond <= 0 {
		return pace{}
	}
	most := min(bytesPerSecond, math.MaxInt64/underWay) * underWay
	return pace{rate.NewLimiter(rate.Limit(bytesPerSecond), int(min(bytesPerSecond, burstBytes))), semaphore.NewWeighted(most), most}
}

// turn waits until so many bytes may be under way, in the order of the calls, and returns what ends that. What is longer than all that may be
// is under way alone.
func (l pace) turn(ctx context.Context, bytes int64) (end func(), err error) {
	if l.turns == nil {
		return func() {}, nil
	}
	bytes = min(bytes, l.most)
	if l.turns.Acquire(ctx, bytes) != nil {
		return nil, context.Cause(ctx)
	}
	return func() { l.turns.Release(bytes) }, nil
}

// read reads no more than what may go at once, and waits until it may.
func (l pace) read(ctx context.Context, r io.Reader, p []byte) (int, error) {
	if l.limiter == nil {
		return r.Read(p)
	}
	n, err := r.Read(p[:min(len(p), l.limiter.Burst())])
	if waitErr := l.limiter.WaitN(ctx, n); waitErr != nil {
		return 0, waitErr
	}
	return n, err
}
