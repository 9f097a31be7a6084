package store

import (
	"cmp"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Buckets are the names of the caller's buckets at a place. The configuration names none.
func Buckets(ctx context.Context, c Config) ([]string, error) {
	s, err := Open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.http.CloseIdleConnections()
	var names []string
	pages := s3.NewListBucketsPaginator(s.client, &s3.ListBucketsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return names, fmt.Errorf("list the buckets: %w", s.reason(err))
		}
		for _, b := range page.Buckets {
			names = append(names, aws.ToString(b.Name))
		}
	}
	return names, nil
}

// Exists returns ErrNotFound if there is no such bucket.
func (s *S3) Exists(ctx context.Context) error {
	_, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket})
	return s.failed("look at", "", err)
}

// regionHeader is in every answer about a bucket that there is, refusals too.
const regionHeader = "X-Amz-Bucket-Region"

// Located is a configuration with the region that its bucket is in, as its place says, and that of before where it says none: a
// bucket that does not answer is for those to report who use it. If the place did answer, it is Known.
func Located(ctx context.Context, c Config) Config {
	ask := c
	ask.Attempts = 2
	s, err := Open(ctx, ask)
	if err != nil {
		return c
	}
	defer s.http.CloseIdleConnections()
	_, err = s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket})
	region := cmp.Or(answer(err).Header.Get(regionHeader), c.Region)
	c.Known = s.patience.known.Load() && (region == c.Region || c.Endpoint != "") // another region is another place
	c.Region = region
	return c
}
