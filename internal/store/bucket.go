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

// Region is the region of a bucket that is not in that of the configuration, as its place says, and otherwise that of
// the configuration: a bucket that does not answer is for those to report who use it.
func Region(ctx context.Context, c Config) string {
	c.Attempts = 2
	s, err := Open(ctx, c)
	if err != nil {
		return c.Region
	}
	defer s.http.CloseIdleConnections()
	_, err = s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket})
	return cmp.Or(answer(err).Header.Get(regionHeader), c.Region)
}
