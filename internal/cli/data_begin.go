package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/store"
)

// bucketPatience is how long a bucket's place may be gone, or credentials expired, before a command about data gives up.
const bucketPatience = 10 * time.Minute

// transferFlags say how fast data moves, and for how long a command waits until it can.
type transferFlags struct {
	limit string
	wait  time.Duration
}

func (f *transferFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.limit, "limit", "", "how many `BYTES` a second at the most, such as 100M")
	c.Flags().DurationVar(&f.wait, "wait", bucketPatience, "give up after this `DURATION` without the server or without valid credentials")
}

// configure sets what the flags say.
func (f transferFlags) configure(c *store.Config) error {
	c.Patience = cmp.Or(f.wait, bucketPatience)
	if c.Patience < time.Second {
		return fault.Usage(fmt.Errorf("--wait %s is too short: say 1s or more", f.wait))
	}
	if f.limit == "" {
		return nil
	}
	n, err := bytesOf(f.limit)
	if err == nil && n == 0 {
		err = fault.Usage(fmt.Errorf("--limit %s lets nothing through; leave it out for no limit", f.limit))
	}
	c.BytesPerSecond = n
	return err
}

// beginData opens a target's bucket for a command, and shows how far that is until stop is called.
func (a *app) beginData(ctx context.Context, f bucketFlags, t target, how transferFlags) (bucket *store.S3, p *data.Progress, stop func(), err error) {
	p = &data.Progress{}
	if bucket, _, err = a.openBucket(ctx, f, t, how, p); err != nil {
		return nil, p, func() {}, err
	}
	return bucket, p, a.watchData(p), nil
}

// openBucket opens a target's bucket for a command that tells its waits by a progress, and says where it is.
func (a *app) openBucket(ctx context.Context, f bucketFlags, t target, how transferFlags, p *data.Progress) (*store.S3, store.Config, error) {
	config, err := a.bucketOf(ctx, f, t)
	if err != nil {
		return nil, config, err
	}
	if err := how.configure(&config); err != nil {
		return nil, config, err
	}
	waits := bucketWaits{limit: config.Patience, renewal: config.Renewal}
	config.Bell = func(err error, wait time.Duration) {
		if text := waits.notice(err, wait, time.Now()); text != "" {
			p.Note("%s", text)
		}
	}
	bucket, err := store.Open(ctx, config)
	return bucket, config, err
}

// bucketWaits words the waits for a bucket.
type bucketWaits struct {
	limit   time.Duration
	renewal string

	mu      sync.Mutex // guards what follows
	expired time.Time  // when a wait for credentials began last
}

// newSpell is how long after a wait for credentials the next one is another one: requests are made again much more often.
const newSpell = time.Minute

// notice returns what to say of a wait, "" for nothing: one for credentials is said once, as only the user can end it.
func (w *bucketWaits) notice(err error, wait time.Duration, now time.Time) string {
	if !errors.Is(err, store.ErrCredentials) {
		if wait < time.Second {
			return ""
		}
		return fmt.Sprintf("%v: again in %s", err, count.Span(wait))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.expired
	w.expired = now
	if now.Sub(before) < newSpell {
		return ""
	}
	todo := ""
	if w.renewal != "" {
		todo = "; " + w.renewal
	}
	return fmt.Sprintf("waiting %s for valid credentials: %v%s", count.Span(w.limit), err, todo)
}
