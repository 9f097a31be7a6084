// Package pause waits for a time that a context may cut short: the wait between two
// looks at the world, or between two attempts.
package pause

import (
	"context"
	"time"
)

// For waits, and returns why the context ended if it ends before. It does not wait if
// there is no time to wait for.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
