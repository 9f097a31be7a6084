package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/muster-hpc/muster/internal/say/count"
)

func (a *Account) s3() *s3.Client { return s3.NewFromConfig(a.config) }

// HasBucket reports whether the caller has the bucket.
func (a *Account) HasBucket(ctx context.Context, bucket string) (bool, error) {
	_, err := a.s3().HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &bucket})
	switch code(err) {
	case "NotFound", "NoSuchBucket":
		return false, nil
	}
	if err != nil {
		return false, failed(err, "look at the bucket %s", bucket)
	}
	return true, nil
}

// BucketRegion is where a bucket is. S3 tells that to callers without rights, too.
func (a *Account) BucketRegion(ctx context.Context, bucket string) (string, error) {
	region, err := regionOf(a.s3().HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &bucket}))
	if err != nil {
		return "", failed(err, "look at the bucket %s", bucket)
	}
	return region, nil
}

// regionOf reads the region of a bucket from S3's answer.
func regionOf(out *s3.HeadBucketOutput, err error) (string, error) {
	region := ""
	if err == nil {
		region = aws.ToString(out.BucketRegion)
	} else if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok && answer.HTTPStatusCode() != http.StatusNotFound {
		region = answer.Response.Header.Get("X-Amz-Bucket-Region")
	}
	switch {
	case region != "":
		return region, nil
	case err == nil:
		err = fmt.Errorf("%w in which region it is", errUseless)
	}
	return "", err
}

// EmptyBucket deletes all objects of a bucket, with all their versions and uploads
// that were never finished, and says how many there were. A bucket that is not
// there is empty.
func (a *Account) EmptyBucket(ctx context.Context, bucket string) (int, error) {
	client, count := a.s3(), 0
	for page, err := range pagesOf(ctx, s3.NewListObjectVersionsPaginator(client, &s3.ListObjectVersionsInput{Bucket: &bucket})) {
		if code(err) == "NoSuchBucket" {
			return count, nil
		}
		if err != nil {
			return count, failed(err, "list the objects of bucket %s", bucket)
		}
		n, err := deletePage(ctx, client, bucket, page)
		count += n
		if err != nil {
			return count, err
		}
	}
	return count, abortUploads(ctx, client, bucket)
}

// deletePage deletes what one page names: at most 1000 versions, as many as one
// call takes.
func deletePage(ctx context.Context, client *s3.Client, bucket string, page *s3.ListObjectVersionsOutput) (int, error) {
	var ids []types.ObjectIdentifier
	for _, v := range page.Versions {
		ids = append(ids, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
	}
	for _, m := range page.DeleteMarkers {
		ids = append(ids, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
	}
	if len(ids) == 0 {
		return 0, nil
	}
	out, err := client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &bucket, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)}})
	if err != nil {
		return 0, failed(err, "delete %s of bucket %s", count.Of(len(ids), "object"), bucket)
	}
	if len(out.Errors) > 0 {
		e := out.Errors[0]
		return 0, fmt.Errorf("delete %s of bucket %s: %d stay, the first is %s: %s", count.Of(len(ids), "object"), bucket, len(out.Errors), aws.ToString(e.Key), aws.ToString(e.Message))
	}
	return len(ids), nil
}

func abortUploads(ctx context.Context, client *s3.Client, bucket string) error {
	for page, err := range pagesOf(ctx, s3.NewListMultipartUploadsPaginator(client, &s3.ListMultipartUploadsInput{Bucket: &bucket})) {
		if err != nil {
			return failed(err, "list the unfinished uploads of bucket %s", bucket)
		}
		for _, u := range page.Uploads {
			_, err := client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: u.Key, UploadId: u.UploadId})
			if err != nil && code(err) != "NoSuchUpload" {
				return failed(err, "end the upload of %s to bucket %s", aws.ToString(u.Key), bucket)
			}
		}
	}
	return nil
}

// ErrNotEmpty says that a bucket has objects and so was not deleted.
var ErrNotEmpty = errors.New("it is not empty")

// DeleteBucket deletes an empty bucket. One that is not there is gone, one that is not
// empty is ErrNotEmpty.
func (a *Account) DeleteBucket(ctx context.Context, bucket string) error {
	_, err := a.s3().DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &bucket})
	switch {
	case err == nil, code(err) == "NoSuchBucket":
		return nil
	case code(err) == "BucketNotEmpty":
		return fmt.Errorf("delete the bucket %s: %w", bucket, ErrNotEmpty)
	}
	return failed(err, "delete the bucket %s", bucket)
}

// mostPages is how many pages of a bucket are counted: a million versions.
const mostPages = 1000

// bucketBytes is how much a bucket holds, all versions counted. It is not known for
// a bucket that may not be listed, or that is too large to be counted.
func (a *Account) bucketBytes(ctx context.Context, bucket string) (bytes int64, known, there bool) {
	pages := s3.NewListObjectVersionsPaginator(a.s3(), &s3.ListObjectVersionsInput{Bucket: &bucket})
	for n := 0; pages.HasMorePages(); n++ {
		page, err := pages.NextPage(ctx)
		if code(err) == "NoSuchBucket" {
			return 0, true, false
		}
		if err != nil || n == mostPages {
			return bytes, false, true
		}
		for _, v := range page.Versions {
			bytes += aws.ToInt64(v.Size)
		}
	}
	return bytes, true, true
}
