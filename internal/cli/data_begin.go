package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/store"
)

// bucketPatience is how long a bucket's place may be gone before a command about data gives up.
const bucketPatience = 5 * time.Minute

// beginData opens a target's bucket for a command, and shows how far that is until stop is called.
func (a *app) beginData(ctx context.Context, f bucketFlags, t target, limit string) (bucket *store.S3, p *data.Progress, stop func(), err error) {
	p = &data.Progress{}
	if bucket, _, err = a.openBucket(ctx, f, t, limit, p); err != nil {
		return nil, p, func() {}, err
	}
	return bucket, p, a.watchData(p), nil
}

// openBucket opens a target's bucket for a command that tells its waits by a progress, and says where it is.
func (a *app) openBucket(ctx context.Context, f bucketFlags, t target, limit string, p *data.Progress) (*store.S3, store.Config, error) {
	config, err := a.bucketOf(ctx, f, t)
	if err != nil {
		return nil, config, err
	}
	if limit != "" {
		if config.BytesPerSecond, err = bytesOf(limit); err == nil && config.BytesPerSecond == 0 {
			err = fault.Usage(fmt.Errorf("--limit %s lets nothing through; leave it out for no limit", limit))
		}
		if err != nil {
			return nil, config, err
		}
	}
	config.Patience = bucketPatience
	config.Bell = func(err error, wait time.Duration) {
		if wait >= time.Second {
			p.Note("%v: again in %s", err, count.Span(wait))
		}
	}
	bucket, err := store.Open(ctx, config)
	return bucket, config, err
}
