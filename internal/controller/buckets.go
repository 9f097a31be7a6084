package controller

import (
	"context"
	"log/slog"
	"sync"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// MakeBuckets makes the buckets that muster.yaml asks for, by name, and tries
// again until each is there or ctx ends. They may be there already.
func MakeBuckets(ctx context.Context, all map[string]store.Store, log *slog.Logger) {
	var group sync.WaitGroup
	for name, bucket := range all {
		group.Go(func() { makeBucket(ctx, name, bucket, log) })
	}
	group.Wait()
}

func makeBucket(ctx context.Context, name string, bucket store.Store, log *slog.Logger) {
	trouble := ""
	for {
		err := bucket.MakeBucket(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if now := err.Error(); now != trouble {
			log.Warn("bucket not made", "bucket", name, "error", now)
			trouble = now
		}
		if pause.For(ctx, exportSeldom) != nil {
			return
		}
	}
}
