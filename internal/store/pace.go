package store

import (
	"context"
	"io"

	"golang.org/x/time/rate"
)

// pace is the rate of all bodies of a bucket, in both directions together. The zero value has no limit.
type pace struct{ limiter *rate.Limiter }

// A few are let through at once: as many as the transport reads at a time, or what a slow pace takes a second for.
const burstBytes = 64 << 10

func newPace(bytesPerSecond int64) pace {
	if bytesPerSecond <= 0 {
		return pace{}
	}
	return pace{rate.NewLimiter(rate.Limit(bytesPerSecond), int(min(bytesPerSecond, burstBytes)))}
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
