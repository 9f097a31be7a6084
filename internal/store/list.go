package store

import (
	"context"
	"errors"
	"iter"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// List implements Store.
func (s *S3) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for p := (leaf{more: true}); p.more; {
			if p = s.page(ctx, prefix, "", p.token); p.err != nil {
				yield(Object{}, p.err)
				return
			}
			for _, o := range p.objects {
				if !yield(o, nil) {
					return
				}
			}
		}
	}
}

// leaf is a page of a list.
type leaf struct {
	objects []Object
	more    bool
	token   *string // of the page that follows
	err     error
}

// page asks for the page that has this token, or for the one that begins behind a key.
func (s *S3) page(ctx context.Context, prefix, after string, token *string) leaf {
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix, EncodingType: types.EncodingTypeUrl, ContinuationToken: token}
	if token == nil && after != "" {
		in.StartAfter = &after
	}
	out, err := s.client.ListObjectsV2(ctx, in, quickly)
	if err != nil {
		return leaf{err: s.failed("list", prefix+"*", err)}
	}
	p := leaf{objects: make([]Object, 0, len(out.Contents)), token: out.NextContinuationToken}
	goes := aws.ToString(p.token) != ""
	if p.more = aws.ToBool(out.IsTruncated); p.more && !goes || out.IsTruncated == nil && goes {
		return leaf{err: s.failed("list", prefix+"*", errEndless)}
	}
	for _, o := range out.Contents {
		key, err := listed(out.EncodingType, o.Key)
		if err != nil {
			return leaf{err: s.failed("list", prefix+"*", err)}
		}
		p.objects = append(p.objects, described(key, o.Size, o.LastModified, o.ETag, nil))
	}
	return p
}

// errEndless says that nobody knows whether a list has more: what it lacks would be taken for gone.
var errEndless = errors.New("the list does not say whether it ends here, or how it goes on")

// listed is a key of a list. XML cannot carry every key, so they are asked for percent-encoded, with + for a space, as
// AWS's own clients read them; a place that knows no encoding says so by not naming it.
func listed(encoding types.EncodingType, key *string) (string, error) {
	if encoding != types.EncodingTypeUrl {
		return aws.ToString(key), nil
	}
	return url.QueryUnescape(aws.ToString(key))
}
