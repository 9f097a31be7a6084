package store

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyauth "github.com/aws/smithy-go/auth"
	"github.com/aws/smithy-go/encoding/httpbinding"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// short is the way of small requests to a bucket: signed by the SDK's signer and made once, without the steps that the SDK
// takes around each request, which cost more than all else that a small object needs. It knows success alone. Whatever else
// comes of a request, it is made again by the SDK, which knows what passes, what has to be renewed and what to say; and
// requests after it go that way, too, for a while.
type short struct {
	client idleClient
	signer *v4.Signer
	keys   aws.CredentialsProvider
	bucket url.URL // the path ends in a slash
	region string
	until  atomic.Int64 // when it may be taken, in ns since 1970
}

const (
	shortRest     = time.Second // after what was no success
	notInSigned   = "UNSIGNED-PAYLOAD"
	shaOfNothing  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	contentSHA    = "X-Amz-Content-Sha256"
	shortAnswer   = 1 << 10   // bytes of an answer that are read for the connection's sake
	shortBytes    = 256 << 10 // of a body: for longer ones the SDK's steps do not count
	userAgent     = "muster"
	signedService = "s3"
)

// usualSchemes are the names of the usual way to sign: the SDK's own, and that in S3's rules for endpoints.
var usualSchemes = []string{smithyauth.SchemeIDSigV4, "sigv4"}

// newShort returns nil where requests are signed in another way than usual, or their place is not known, and where requests are
// to be counted.
func newShort(ctx context.Context, o s3.Options, bucket string, http idleClient, keys aws.CredentialsProvider) *short {
	at, err := o.EndpointResolverV2.ResolveEndpoint(ctx, s3.EndpointParameters{Bucket: &bucket, Region: &o.Region, Endpoint: o.BaseEndpoint, ForcePathStyle: &o.UsePathStyle,
		UseFIPS: aws.Bool(false), UseDualStack: aws.Bool(false), Accelerate: aws.Bool(false)})
	if err != nil {
		return nil
	}
	ways, _ := smithyauth.GetAuthOptions(&at.Properties)
	if len(ways) == 0 || !slices.Contains(usualSchemes, ways[0].SchemeID) || len(at.Headers) > 0 {
		return nil
	}
	if name, _ := smithyhttp.GetSigV4SigningName(&ways[0].SignerProperties); name != signedService {
		return nil
	}
	region, _ := smithyhttp.GetSigV4SigningRegion(&ways[0].SignerProperties)
	at.URI.Path = strings.TrimSuffix(at.URI.Path, "/") + "/"
	return &short{client: http, keys: keys, bucket: at.URI, region: region, signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })}
}

// open reports whether it may be taken now.
func (s *short) open() bool { return s != nil && time.Now().UnixNano() >= s.until.Load() }

// rest lets the SDK make the next requests.
func (s *short) rest() { s.until.Store(time.Now().Add(shortRest).UnixNano()) }

// do makes a request once.
func (s *short) do(ctx context.Context, method, key, query string, header http.Header, body io.Reader, size int64) (*http.Response, error) {
	at := s.bucket
	at.Path += key
	at.RawQuery = query
	at.RawPath = httpbinding.EscapePath(s.bucket.Path, false) + httpbinding.EscapePath(key, false)
	req := (&http.Request{Method: method, URL: &at, Host: at.Host, Header: header, Body: http.NoBody, ContentLength: size}).WithContext(ctx)
	if size > 0 {
		req.Body = io.NopCloser(body)
	}
	sum := notInSigned
	if method == http.MethodGet {
		sum = shaOfNothing
	}
	header.Set(contentSHA, sum)
	header.Set("User-Agent", userAgent)
	header.Set("Accept-Encoding", "identity")
	keys, err := s.keys.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.signer.SignHTTP(ctx, keys, req, sum, signedService, s.region, time.Now()); err != nil {
		return nil, err
	}
	return s.client.Do(req)
}

// put sends what is to be a whole object. errNoAnswer says that it is not known whether it is there, and errOtherAnswer that it is not.
func (s *short) put(ctx context.Context, u Upload, sums Sums, c condition, body io.Reader) (receipt, error) {
	resp, err := s.do(ctx, http.MethodPut, u.Key, "x-id=PutObject", u.header(sums, c), body, u.SizeBytes)
	if err != nil {
		s.rest()
		return receipt{}, errNoAnswer
	}
	defer resp.Body.Close()
	said, err := io.Copy(io.Discard, io.LimitReader(resp.Body, shortAnswer))
	if resp.StatusCode == http.StatusOK && said == 0 && err == nil { // S3 can say OK and an error after it
		h := resp.Header
		return receipt{crc: aws.String(h.Get(headerCRC)), kind: types.ChecksumType(h.Get(headerKind)), etag: aws.String(h.Get("Etag")),
			as: types.ServerSideEncryption(h.Get(headerEncryption))}, nil
	}
	s.rest()
	if resp.StatusCode >= http.StatusBadRequest && resp.StatusCode < http.StatusInternalServerError {
		return receipt{}, errOtherAnswer
	}
	return receipt{}, errNoAnswer
}

// get asks for bytes of an object. It is nil if they are not what comes.
func (s *short) get(ctx context.Context, key, span, version string) io.ReadCloser {
	header := http.Header{"Range": {span}}
	if version != "" {
		header.Set("If-Match", version)
	}
	resp, err := s.do(ctx, http.MethodGet, key, "x-id=GetObject", header, nil, 0)
	if err == nil && resp.StatusCode == http.StatusPartialContent && strings.HasPrefix(resp.Header.Get("Content-Range"), strings.Replace(span, "=", " ", 1)+"/") {
		return resp.Body
	}
	if err == nil {
		resp.Body.Close()
	}
	s.rest()
	return nil
}

var (
	errNoAnswer    = errors.New("no answer")
	errOtherAnswer = errors.New("another answer than OK")
)

const (
	headerEncryption = "X-Amz-Server-Side-Encryption"
	headerMeta       = "X-Amz-Meta-"
	headerCRC        = "X-Amz-Checksum-Crc64nvme"
	headerKind       = "X-Amz-Checksum-Type"
)

// header is that of an upload, as the SDK makes it.
func (u Upload) header(sums Sums, c condition) http.Header {
	h := http.Header{
		"Content-Type":                 {"application/octet-stream"},
		headerCRC:                      {sums.CRC64NVME},
		"X-Amz-Sdk-Checksum-Algorithm": {string(types.ChecksumAlgorithmCrc64nvme)},
	}
	for key, value := range metadata(u, sums.SHA256) {
		h.Set(headerMeta+key, value)
	}
	for name, value := range map[string]string{
		"If-Match":                           aws.ToString(c.match),
		"If-None-Match":                      aws.ToString(c.none),
		"X-Amz-Storage-Class":                u.Class,
		headerEncryption:                     string(u.encryption()),
		headerEncryption + "-Aws-Kms-Key-Id": aws.ToString(u.keyID()),
	} {
		if value != "" {
			h.Set(name, value)
		}
	}
	return h
}
