package store

import (
	"context"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Get implements Store.
func (s *S3) Get(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key}, s3.WithAPIOptions(askForChecksum))
	if err != nil {
		return nil, Object{}, s.failed("get", key, err)
	}
	o := described(key, out.ContentLength, out.LastModified, out.ETag, out.Metadata)
	o.CRC64NVME = whole(out.ChecksumType, out.ChecksumCRC64NVME)
	body := s.unbroken(ctx, out.Body, 0, o.SizeBytes, func(from int64) (io.ReadCloser, error) {
		return s.part(ctx, key, from, o.SizeBytes-from, o.Version)
	})
	return named{Verify(body, o.SizeBytes, Sums{o.SHA256, o.CRC64NVME}), key}, o, nil
}

// whole is the checksum of a whole object, "" if it is one of the checksums of its parts.
func whole(kind types.ChecksumType, crc *string) string {
	if kind == types.ChecksumTypeComposite {
		return ""
	}
	return aws.ToString(crc)
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
		err = fmt.Errorf("read object %s: %w", n.key, err)
	}
	return c, err
}
