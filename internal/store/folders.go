package store

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Folders yields what keys go on with behind a prefix, up to and with the next slash, once each and in order: as if it were
// a directory that has directories. After an error it yields nothing more.
func (s *S3) Folders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		slash := "/"
		pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix, Delimiter: &slash, EncodingType: types.EncodingTypeUrl})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield("", s.failed("list", prefix+"*", err))
				return
			}
			for _, p := range page.CommonPrefixes {
				key, err := listed(page.EncodingType, p.Prefix)
				if err != nil {
					yield("", s.failed("list", prefix+"*", err))
					return
				}
				if !yield(key[min(len(prefix), len(key)):], nil) {
					return
				}
			}
		}
	}
}
