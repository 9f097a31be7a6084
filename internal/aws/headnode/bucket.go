package headnode

import (
	"context"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/store"
)

// findBucket opens a bucket that is there, in whatever region, with the head node's rights.
func findBucket(ctx context.Context, account *api.Account, name string) (store.Store, error) {
	region, err := account.BucketRegion(ctx, name)
	if err != nil {
		return nil, err
	}
	cfg := account.Config()
	c := store.Config{Region: region, Credentials: cfg.Credentials, Bucket: name}
	if cfg.BaseEndpoint != nil {
		c.Endpoint = *cfg.BaseEndpoint
	}
	return store.Open(ctx, c)
}
