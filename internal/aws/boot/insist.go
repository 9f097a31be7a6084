package boot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/sys/pause"
)

// patience is how long something is tried that may come late, and how often.
type patience struct {
	Limit, Every time.Duration
}

// try does something until it succeeds, until it says that trying again is no use, or
// until the limit is over.
func (p patience) try(ctx context.Context, do func(context.Context) (again bool, err error)) error {
	began, tries := time.Now(), 0
	for {
		again, err := do(ctx)
		tries++
		if err == nil || !again {
			return err
		}
		if time.Since(began)+p.Every > p.Limit {
			return fmt.Errorf("%w (tried %d times in %s)", err, tries, time.Since(began).Round(time.Second))
		}
		if over := pause.For(ctx, p.Every); over != nil {
			return errors.Join(err, over)
		}
	}
}
