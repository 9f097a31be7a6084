package boot

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// patience is how long something is tried that may come late, and how often.
type patience struct {
	Limit, Every time.Duration
}

// try does a deed until it succeeds, until it says that trying again is no use, or
// until the limit is over.
func (p patience) try(ctx context.Context, deed func(context.Context) (again bool, err error)) error {
	began, tries := time.Now(), 0
	for {
		again, err := deed(ctx)
		tries++
		if err == nil || !again {
			return err
		}
		if time.Since(began)+p.Every > p.Limit {
			return fmt.Errorf("%w (tried %d times in %s)", err, tries, time.Since(began).Round(time.Second))
		}
		timer := time.NewTimer(p.Every)
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, context.Cause(ctx))
		case <-timer.C:
		}
	}
}
