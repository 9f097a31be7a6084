package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/store"
)

// noDataset says of a place without a dataset what is missing: the bucket, or that the dataset is one above it.
func noDataset(ctx context.Context, bucket *store.S3, at target, err error) error {
	if !errors.Is(err, data.ErrNone) {
		return err
	}
	if err := noBucket(ctx, bucket, at); err != nil {
		return err
	}
	if above, found := data.Around(ctx, bucket, at.prefix); found {
		part := strings.TrimPrefix(strings.TrimPrefix(at.prefix, above), "/")
		return fmt.Errorf("there is no dataset at %s, but one at %s that it may be a part of: take that with --include '%s/**'", at, target{at.bucket, above}, part)
	}
	return err
}

// noBucket says that there is no such bucket.
func noBucket(ctx context.Context, bucket *store.S3, at target) error {
	if err := bucket.Exists(ctx); errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no bucket %s; `muster data list` lists those that there are", at.bucket)
	}
	return nil
}
