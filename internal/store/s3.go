package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
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
	Renewal         string                  // what renews the credentials, for the user; may be ""
	Bucket          string
	Idle            time.Duration // how long a request may stand still; 0 for 30 s
	Attempts        int           // how often a request is made at the most; 0 for 4
	TLS             *tls.Config   // whom to trust, where the system's authorities are not enough; may be nil
	// Dial connects to the endpoint where this machine's network does not reach it; may be nil.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Known says that the place has answered before: it is there, and only gone if it does not answer.
	Known bool

	// Patience is how long what passes is endured: a place that is gone, overloaded or silent, bytes that came as others,
	// credentials that expired. A request is then made as often as it fits in, at the least as often as Attempts says, and
	// a body that breaks off is read on. 0 is as often as Attempts says.
	Patience       time.Duration
	Bell           func(err error, wait time.Duration) // told of each such wait; by many goroutines; may be nil
	BytesPerSecond int64                               // of all bodies in both directions; 0 for no limit
}

// S3 is a bucket behind the S3 protocol.
type S3 struct {
	client *s3.Client
	http   *http.Client
	bucket string
	idle   time.Duration
	limits limits
	memory *memory

	short    *short // nil where there is none
	patience *patience
	pace     pace
	classes  sync.Map // by name: whether objects got it
	keeps    keeper
}

var _ Store = (*S3)(nil)

// Open prepares the use of a bucket. It reads the credentials, so that a wrong file shows here, and sends no request.
func Open(ctx context.Context, c Config) (*S3, error) {
	renewed := newRenewing(c)
	if _, err := renewed.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", c.Bucket, err)
	}
	at, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", c.Bucket, err)
	}
	if c.Idle == 0 {
		c.Idle = idleLimit
	}
	s := &S3{bucket: c.Bucket, idle: c.Idle, limits: theirs, memory: newMemory(heldBytes), http: &http.Client{Transport: c.transport()},
		patience: newPatience(c, renewed), pace: newPace(c.BytesPerSecond)}
	http := idleClient{s.http, c.Idle, s.pace, &s.patience.known}
	s.client = s3.New(s3.Options{
		Region:                     c.Region,
		Credentials:                renewed,
		HTTPClient:                 http,
		Retryer:                    s.patience,
		APIOptions:                 s.patience.options(),
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}, func(o *s3.Options) {
		if c.Endpoint != "" {
			o.BaseEndpoint, o.UsePathStyle = &c.Endpoint, true
			o.EndpointResolverV2 = endpoint{*at}
		}
	})
	if c.Patience > 0 {
		s.short = newShort(ctx, s.client.Options(), s.bucket, http, renewed)
	}
	return s, nil
}

// Keys are the credentials that count.
func (c Config) Keys() aws.CredentialsProvider {
	if c.Credentials != nil {
		return c.Credentials
	}
	return sharedFile(c.CredentialsFile)
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
	answeredSums{out.ChecksumType, out.ChecksumCRC64NVME, out.ChecksumCRC32, out.ChecksumCRC32C, out.ChecksumSHA1, out.ChecksumSHA256}.add(&o)
	return o, nil
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

// DeleteIf implements Store. S3 compares the version itself (since 2025,
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-deletes.html). Of its relatives some do not know the
// condition, and delete whatever is there: so they are asked for the version first.
func (s *S3) DeleteIf(ctx context.Context, key, version string) error {
	if s.client.Options().BaseEndpoint != nil {
		o, err := s.Head(ctx, key)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err == nil && o.Version != version {
			err = s.failed("delete", key, ErrChanged)
		}
		if err != nil {
			return err
		}
	}
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key, IfMatch: &version})
	if code(err) == conflict {
		err = ErrChanged
	}
	if err = s.failed("delete", key, err); errors.Is(err, ErrNotFound) {
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
