package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const (
	partsAtOnce   = 4
	heldBytes     = partsAtOnce * partBytes // of contents by all uploads of a bucket: parts that are sent, and those that are read
	partBytes     = 32 << 20
	assemblyBytes = 20 << 20 // a server joins parts at this many bytes a second, at the least
	abortLimit    = 10 * time.Second
)

// limits say how contents are divided.
type limits struct {
	whole int64 // bytes; what is larger goes in parts
	part  int64 // bytes; more if there would be too many parts
	parts int64 // at the most
}

// theirs has S3's limit of parts.
var theirs = limits{whole: 64 << 20, part: partBytes, parts: 10_000}

// MostBytes is the longest object that all of S3's relatives keep. S3 itself takes 48.8 TiB by now.
const MostBytes = 5 << 40

// Put implements Store. The content is read once, into memory, and summed up on the way; from there it is sent, again if
// it has to be. The SHA-256 is known when all is read, which is too late for the metadata of what goes in parts: there it
// is kept only if the caller knew it before, and else the place's CRC64NVME of the whole is what proves the object. Parts
// of objects above 625 GiB are too large to be held, and are read again to be sent.
func (s *S3) Put(ctx context.Context, u Upload) (Object, error) {
	return s.put(ctx, u, condition{})
}

// PutIf implements Store.
func (s *S3) PutIf(ctx context.Context, u Upload, version string) (Object, error) {
	if version == "" {
		return s.put(ctx, u, condition{none: aws.String("*")})
	}
	return s.put(ctx, u, condition{match: &version})
}

func (s *S3) put(ctx context.Context, u Upload, c condition) (Object, error) {
	if err := u.Fits(); err != nil {
		return Object{}, s.failed("put", u.Key, err)
	}
	put := s.putWhole
	if u.SizeBytes > s.limits.whole {
		put = s.putParts
	}
	o, err := put(ctx, u, c)
	if err != nil {
		return Object{}, s.failed("put", u.Key, err)
	}
	return o, s.failed("put", u.Key, s.asAsked(ctx, u))
}

// Fits returns ErrRefused for what is longer than any object.
func (u Upload) Fits() error {
	if u.SizeBytes <= MostBytes {
		return nil
	}
	return refusal{fmt.Errorf("it has %d bytes, and one object takes %d (5 TiB) at the most", u.SizeBytes, int64(MostBytes))}
}

func (s *S3) putWhole(ctx context.Context, u Upload, c condition) (Object, error) {
	from := s.source(u)
	p, err := from.next(ctx, u.SizeBytes)
	if err != nil {
		return Object{}, err
	}
	defer p.free()
	sums, err := from.end()
	if err != nil {
		return Object{}, err
	}
	tries := &again{body: true}
	body := u.sender(p)
	if s.short.open() && p.size <= shortBytes {
		got, err := s.short.put(ctx, u, sums, c, body)
		if err == nil {
			return s.received(ctx, u, p, sums, got)
		}
		if err == errNoAnswer {
			tries.count++
		}
		if _, err := body.Seek(0, io.SeekStart); err != nil {
			return Object{}, err
		}
	}
	out, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket:               &s.bucket,
		Key:                  &u.Key,
		Body:                 body,
		ContentLength:        &u.SizeBytes,
		Metadata:             metadata(u, sums.SHA256),
		ChecksumAlgorithm:    types.ChecksumAlgorithmCrc64nvme,
		ChecksumCRC64NVME:    &sums.CRC64NVME,
		StorageClass:         types.StorageClass(u.Class),
		ServerSideEncryption: u.encryption(),
		SSEKMSKeyId:          u.keyID(),
		IfMatch:              c.match,
		IfNoneMatch:          c.none,
	}, unsigned, s.again(tries))
	if err != nil {
		return s.putAfterAll(ctx, u, sums, c.judge(err), tries.count)
	}
	return s.received(ctx, u, p, sums, receipt{crc: out.ChecksumCRC64NVME, kind: out.ChecksumType, etag: out.ETag, as: out.ServerSideEncryption})
}

// received judges what a place says of an object that went in one request.
func (s *S3) received(ctx context.Context, u Upload, p piece, sums Sums, r receipt) (Object, error) {
	if err := s.proven(ctx, u, p, r); err != nil {
		return Object{}, err
	}
	return u.stored(sums, r.etag), u.encrypted(r.as)
}

// condition is what has to be true of the object that is there.
type condition struct{ match, none *string }

// judge turns the absence of the object that was to be there into what it means.
func (c condition) judge(err error) error {
	if code(err) == conflict {
		return ErrChanged
	}
	if err = reason(err); c.match != nil && errors.Is(err, ErrNotFound) {
		return ErrChanged
	}
	return err
}

// putAfterAll asks whether an object is there although its upload failed, because the answer to an attempt got lost and the next one
// found the object changed, or its upload gone.
func (s *S3) putAfterAll(ctx context.Context, u Upload, sums Sums, err error, attempts int) (Object, error) {
	if attempts == 0 || !errors.Is(err, ErrChanged) && !errors.Is(err, errNoUpload) {
		return Object{}, err
	}
	o, there, askErr := s.there(ctx, u, sums)
	if askErr != nil || !there {
		return Object{}, errors.Join(err, askErr)
	}
	return o, nil
}

// there reports whether the object of an upload is in its place.
func (s *S3) there(ctx context.Context, u Upload, sums Sums) (Object, bool, error) {
	o, err := s.Head(ctx, u.Key)
	if errors.Is(err, ErrNotFound) {
		return Object{}, false, nil
	}
	if err != nil {
		return Object{}, false, err
	}
	same := o.SizeBytes == u.SizeBytes && o.CRC64NVME == sums.CRC64NVME && maps.Equal(o.Meta, u.Meta)
	return u.stored(sums, &o.Version), same, nil
}

// stored describes an upload that was stored.
func (u Upload) stored(sums Sums, etag *string) Object {
	return Object{Key: u.Key, SizeBytes: u.SizeBytes, Modified: time.Now(), Version: aws.ToString(etag),
		SHA256: sums.SHA256, CRC64NVME: sums.CRC64NVME, Meta: maps.Clone(u.Meta)}
}

// unsigned leaves the body out of the signature: its CRC64NVME is in it, and another pass of SHA-256 would double the
// cost of an upload.
func unsigned(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)
}

func metadata(u Upload, sha string) map[string]string {
	meta := maps.Clone(u.Meta)
	if meta == nil {
		meta = map[string]string{}
	}
	if sha != "" {
		meta[shaKey] = sha
	}
	return meta
}
