package store

import (
	"context"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/muster-hpc/muster/internal/say/page"
)

// Get implements Store.
func (s *S3) Get(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key}, s3.WithAPIOptions(askForChecksum))
	if err != nil {
		return nil, Object{}, s.failed("get", key, err)
	}
	o := described(key, out.ContentLength, out.LastModified, out.ETag, out.Metadata)
	answeredSums{out.ChecksumType, out.ChecksumCRC64NVME, out.ChecksumCRC32, out.ChecksumCRC32C, out.ChecksumSHA1, out.ChecksumSHA256}.add(&o)
	body := s.unbroken(ctx, out.Body, 0, o.SizeBytes, func(from int64) (io.ReadCloser, error) {
		return s.part(ctx, key, from, o.SizeBytes-from, o.Version)
	})
	return named{o.Verify(body), key}, o, nil
}

// askForChecksum asks the server for the stored checksum. The SDK's own switch would also make the SDK compare it,
// with an error that cannot be told from others.
var askForChecksum = smithyhttp.SetHeaderValue("x-amz-checksum-mode", "ENABLED")

// named adds the object's name to what goes wrong while it is read.
type named struct {
	io.ReadCloser
	key string
}

func (n named) Read(p []byte) (int, error) {
	c, err := n.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read object %s: %w", page.Printable(n.key), err)
	}
	return c, err
}
