package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

const (
	partsAtOnce   = 4
	heldBytes     = (partsAtOnce + 1) * partBytes // of contents by all uploads of a bucket: parts that are sent, and one that is read
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

// Put implements Store. The content is read once, into memory, and summed up on the way; from there it is sent, again if
// it has to be. The SHA-256 is known when all is read, which is too late for the metadata of what goes in parts: there it
// is kept only if the caller knew it before, and else the place's CRC64NVME of the whole is what proves the object. Parts
// of objects above 625 GiB are too large to be held, and are read again to be sent.
func (s *S3) Put(ctx context.Context, u Upload) (Object, error) {
	put := s.putWhole
	if u.SizeBytes > s.limits.whole {
		put = s.putParts
	}
	o, err := put(ctx, u)
	if err != nil {
		return Object{}, s.failed("put", u.Key, err)
	}
	return o, nil
}

func (s *S3) putWhole(ctx context.Context, u Upload) (Object, error) {
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
	out, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket:            &s.bucket,
		Key:               &u.Key,
		Body:              u.sender(p),
		ContentLength:     &u.SizeBytes,
		Metadata:          metadata(u, sums.SHA256),
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme,
		ChecksumCRC64NVME: &sums.CRC64NVME,
	}, unsigned)
	if err != nil {
		return Object{}, err
	}
	return u.stored(sums, out.ETag), nil
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

func (s *S3) putParts(ctx context.Context, u Upload) (Object, error) {
	begun, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket:            &s.bucket,
		Key:               &u.Key,
		Metadata:          metadata(u, u.Sums.SHA256),
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme,
		ChecksumType:      types.ChecksumTypeFullObject,
	})
	if err != nil {
		return Object{}, err
	}
	o, err := s.fill(ctx, u, begun.UploadId)
	if err != nil {
		return Object{}, errors.Join(err, s.abort(ctx, u.Key, begun.UploadId))
	}
	return o, nil
}

// fill sends the parts and joins them.
func (s *S3) fill(ctx context.Context, u Upload, id *string) (Object, error) {
	parts, sums, err := s.sendParts(ctx, u, id)
	if err != nil {
		return Object{}, err
	}
	patience := s.idle + time.Duration(u.SizeBytes/assemblyBytes)*time.Second
	done, err := s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket:            &s.bucket,
		Key:               &u.Key,
		UploadId:          id,
		MultipartUpload:   &types.CompletedMultipartUpload{Parts: parts},
		ChecksumType:      types.ChecksumTypeFullObject,
		ChecksumCRC64NVME: &sums.CRC64NVME,
		MpuObjectSize:     &u.SizeBytes,
	}, func(o *s3.Options) { o.HTTPClient = idleClient{s.http, patience} })
	if err != nil {
		return Object{}, err
	}
	return u.stored(sums, done.ETag), nil
}

// sendParts reads the parts in order and sends some at a time. If anything fails, all of it ends.
func (s *S3) sendParts(ctx context.Context, u Upload, id *string) ([]types.CompletedPart, Sums, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	size := max(s.limits.part, (u.SizeBytes+s.limits.parts-1)/s.limits.parts)
	parts := make([]types.CompletedPart, (u.SizeBytes+size-1)/size)
	sums, err := s.source(u).pieces(ctx, size, func(i int, p piece) {
		group.Go(func() (err error) {
			defer p.free()
			parts[i], err = s.sendPart(ctx, u, id, int32(i+1), p)
			return err
		})
	})
	if err != nil {
		stop(err)
	}
	sendErr := group.Wait()
	return parts, sums, cmp.Or(err, sendErr)
}

func (s *S3) sendPart(ctx context.Context, u Upload, id *string, number int32, p piece) (types.CompletedPart, error) {
	crc := crcText(p.crc)
	out, err := s.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket:            &s.bucket,
		Key:               &u.Key,
		UploadId:          id,
		PartNumber:        &number,
		Body:              u.sender(p),
		ContentLength:     &p.size,
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme,
		ChecksumCRC64NVME: &crc,
	}, unsigned)
	if err != nil {
		return types.CompletedPart{}, err
	}
	return types.CompletedPart{ETag: out.ETag, PartNumber: &number, ChecksumCRC64NVME: &crc}, nil
}

// abort frees what the parts hold. It must also work when the caller's own context has ended the upload.
func (s *S3) abort(ctx context.Context, key string, id *string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortLimit)
	defer cancel()
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: &key, UploadId: id})
	return s.failed("abort the upload of", key, err)
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
