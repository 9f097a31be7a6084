package aws

import (
	"context"
	"slices"

	"github.com/muster-hpc/muster/internal/place"
)

// S3 implements place.Cluster: AWS's own, in the cluster's region, by the caller's
// credentials.
func (c *cluster) S3(ctx context.Context) (place.S3, error) {
	if c.record.Region != "" {
		return place.S3{Region: c.record.Region}, nil
	}
	acc, err := c.account(ctx)
	if err != nil {
		return place.S3{}, err
	}
	names, err := clusters(ctx, acc)
	if err == nil && !slices.Contains(names, c.record.Name) {
		err = c.talk.None(c.record.Name)
	}
	return place.S3{Region: acc.Region}, err
}
