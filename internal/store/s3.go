package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// idleLimit is how long a request may stand still before it is tried again.
const idleLimit = 30 * time.Second

// shaKey is the user metadata that holds the SHA-256 of the content.
const shaKey = "sha256"

// Config says where a bucket is.
type Config struct {
	Endpoint        string // http://127.0.0.1:9000; "" for AWS
	Region          string
	CredentialsFile string                  // in AWS shared-credentials form; its default profile counts
	Credentials     aws.CredentialsProvider // instead of a file
	Bucket          string
	Idle            time.Duration // how long a request may stand still; 0 for 30 s
	Attempts        int           // how often a request is made at the most; 0 for 4
	TLS             *tls.Config   // whom to trust, where the system's authorities are not enough; may be nil
	// Dial connects to the endpoint where this machine's network does not reach it; may be nil.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// S3 is a bucket behind the S3 protocol.
type S3 struct {
	client *s3.Client
	http   *http.Client
	bucket string
	idle   time.Duration
	limits limits
	memory *memory
}

var _ Store = (*S3)(nil)

// Open prepares the use of a bucket. It reads the credentials, so that a wrong file shows here, and sends no request.
func Open(ctx context.Context, c Config) (*S3, error) {
	creds := c.Credentials
	if creds == nil {
		creds = sharedFile(c.CredentialsFile)
	}
	if _, err := creds.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", c.Bucket, err)
	}
	if c.Idle == 0 {
		c.Idle = idleLimit
	}
	s := &S3{bucket: c.Bucket, idle: c.Idle, limits: theirs, memory: newMemory(heldBytes), http: &http.Client{Transport: c.transport()}}
	s.client = s3.New(s3.Options{
		Region:                     c.Region,
		Credentials:                aws.NewCredentialsCache(creds),
		HTTPClient:                 idleClient{s.http, c.Idle},
		Retryer:                    retry.NewStandard(c.retryLimits),
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}, func(o *s3.Options) {
		if c.Endpoint != "" {
			o.BaseEndpoint, o.UsePathStyle = &c.Endpoint, true
		}
	})
	return s, nil
}

func (c Config) retryLimits(o *retry.StandardOptions) {
	o.MaxAttempts = cmp.Or(c.Attempts, 4)
	o.MaxBackoff = 2 * time.Second
}

// transport takes the way to AWS that the environment names. An endpoint of our own is near, and no proxy knows it.
func (c Config) transport() *http.Transport {
	t := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     time.Minute,
		WriteBufferSize:     64 << 10,
		ReadBufferSize:      64 << 10,
		DisableCompression:  true,
		TLSClientConfig:     c.TLS.Clone(),
	}
	if c.Dial != nil {
		t.DialContext = c.Dial
	}
	if c.Endpoint == "" {
		t.Proxy = http.ProxyFromEnvironment
	}
	return t
}

// MakeBucket implements Store.
func (s *S3) MakeBucket(ctx context.Context) error {
	_, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket})
	if err == nil {
		return nil
	}
	if err = s.failed("look at", "", err); !errors.Is(err, ErrNotFound) {
		return err
	}
	in := &s3.CreateBucketInput{Bucket: &s.bucket}
	if region := s.client.Options().Region; region != "us-east-1" {
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(region)}
	}
	_, err = s.client.CreateBucket(ctx, in)
	var mine *types.BucketAlreadyOwnedByYou
	if errors.As(err, &mine) {
		return nil
	}
	return s.failed("make", "", err)
}

// Head implements Store.
func (s *S3) Head(ctx context.Context, key string) (Object, error) {
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return Object{}, s.failed("look at", key, err)
	}
	o := described(key, out.ContentLength, out.LastModified, out.ETag, out.Metadata)
	o.CRC64NVME = whole(out.ChecksumType, out.ChecksumCRC64NVME)
	return o, nil
}

// Get implements Store.
func (s *S3) Get(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key}, s3.WithAPIOptions(askForChecksum))
	if err != nil {
		return nil, Object{}, s.failed("get", key, err)
	}
	o := described(key, out.ContentLength, out.LastModified, out.ETag, out.Metadata)
	o.CRC64NVME = whole(out.ChecksumType, out.ChecksumCRC64NVME)
	return named{Verify(out.Body, o.SizeBytes, Sums{o.SHA256, o.CRC64NVME}), key}, o, nil
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

// List implements Store.
func (s *S3) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix, EncodingType: types.EncodingTypeUrl})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(Object{}, s.failed("list", prefix+"*", err))
				return
			}
			for _, o := range page.Contents {
				key, err := listed(page.EncodingType, o.Key)
				if err != nil {
					yield(Object{}, s.failed("list", prefix+"*", err))
					return
				}
				if !yield(described(key, o.Size, o.LastModified, o.ETag, nil), nil) {
					return
				}
			}
		}
	}
}

// listed is a key of a list. XML cannot carry every key, so they are asked for percent-encoded, with + for a space, as
// AWS's own clients read them; a place that knows no encoding says so by not naming it.
func listed(encoding types.EncodingType, key *string) (string, error) {
	if encoding != types.EncodingTypeUrl {
		return aws.ToString(key), nil
	}
	return url.QueryUnescape(aws.ToString(key))
}

// Delete implements Store.
func (s *S3) Delete(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	err = s.failed("delete", key, err)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func described(key string, size *int64, modified *time.Time, etag *string, meta map[string]string) Object {
	o := Object{Key: key, SizeBytes: aws.ToInt64(size), Modified: aws.ToTime(modified), Version: aws.ToString(etag), SHA256: meta[shaKey]}
	if len(meta) > 0 {
		o.Meta = maps.Clone(meta)
		delete(o.Meta, shaKey)
	}
	return o
}
