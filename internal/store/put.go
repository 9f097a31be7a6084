package store

import (
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
	multipartAbove = 64 << 20 // bytes
	partBytes      = 32 << 20 // more if there would be too many parts
	maxParts       = 10_000   // S3's limit
	partsAtOnce    = 4
	assemblyBytes  = 20 << 20 // a server joins parts at this many bytes a second, at the least
	abortLimit     = 10 * time.Second
)

// Put implements Store. The content is read twice, once for its checksums and once to be sent, and that of a large
// object a third time, for the checksum of each part; the server refuses what
// differs from the checksums, so a file that changes meanwhile is never stored half old and half new.
func (s *S3) Put(ctx context.Context, u Upload) (Object, error) {
	if u.Sums == (Sums{}) {
		sums, err := Sum(u.Body, u.SizeBytes)
		if err != nil {
			return Object{}, s.failed("put", u.Key, err)
		}
		u.Sums = sums
	}
	put := s.putWhole
	if u.SizeBytes > multipartAbove {
		put = s.putParts
	}
	version, err := put(ctx, u)
	if err != nil {
		return Object{}, s.failed("put", u.Key, err)
	}
	return Object{Key: u.Key, SizeBytes: u.SizeBytes, Modified: time.Now(), Version: version, SHA256: u.Sums.SHA256, Meta: maps.Clone(u.Meta)}, nil
}

func (s *S3) putWhole(ctx context.Context, u Upload) (string, error) {
	out, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket:            &s.bucket,
		Key:               &u.Key,
		Body:              u.section(0, u.SizeBytes),
		ContentLength:     &u.SizeBytes,
		Metadata:          metadata(u),
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme,
		ChecksumCRC64NVME: &u.Sums.CRC64NVME,
	}, unsigned)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.ETag), nil
}

// unsigned leaves the body out of the signature: its CRC64NVME is in it, and another pass of SHA-256 would double the
// cost of an upload.
func unsigned(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)
}

func (s *S3) putParts(ctx context.Context, u Upload) (string, error) {
	begun, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket:            &s.bucket,
		Key:               &u.Key,
		Metadata:          metadata(u),
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme,
		ChecksumType:      types.ChecksumTypeFullObject,
	})
	if err != nil {
		return "", err
	}
	version, err := s.fill(ctx, u, begun.UploadId)
	if err != nil {
		return "", errors.Join(err, s.abort(ctx, u.Key, begun.UploadId))
	}
	return version, nil
}

// fill sends the parts and joins them.
func (s *S3) fill(ctx context.Context, u Upload, id *string) (string, error) {
	parts, err := s.sendParts(ctx, u, id)
	if err != nil {
		return "", err
	}
	patience := s.idle + time.Duration(u.SizeBytes/assemblyBytes)*time.Second
	done, err := s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket:            &s.bucket,
		Key:               &u.Key,
		UploadId:          id,
		MultipartUpload:   &types.CompletedMultipartUpload{Parts: parts},
		ChecksumType:      types.ChecksumTypeFullObject,
		ChecksumCRC64NVME: &u.Sums.CRC64NVME,
		MpuObjectSize:     &u.SizeBytes,
	}, func(o *s3.Options) { o.HTTPClient = idleClient{s.http, patience} })
	if err != nil {
		return "", err
	}
	return aws.ToString(done.ETag), nil
}

func (s *S3) sendParts(ctx context.Context, u Upload, id *string) ([]types.CompletedPart, error) {
	size := max(partBytes, (u.SizeBytes+maxParts-1)/maxParts)
	parts := make([]types.CompletedPart, (u.SizeBytes+size-1)/size)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for i := range parts {
		group.Go(func() error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			offset := int64(i) * size
			part, err := s.sendPart(ctx, u, id, int32(i+1), offset, min(size, u.SizeBytes-offset))
			parts[i] = part
			return err
		})
	}
	return parts, group.Wait()
}

func (s *S3) sendPart(ctx context.Context, u Upload, id *string, number int32, offset, size int64) (types.CompletedPart, error) {
	crc, err := crcOf(u.Body, offset, size)
	if err != nil {
		return types.CompletedPart{}, err
	}
	out, err := s.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket:            &s.bucket,
		Key:               &u.Key,
		UploadId:          id,
		PartNumber:        &number,
		Body:              u.section(offset, size),
		ContentLength:     &size,
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme,
		ChecksumCRC64NVME: &crc,
	}, unsigned)
	if err != nil {
		return types.CompletedPart{}, err
	}
	return types.CompletedPart{ETag: out.ETag, PartNumber: &number, ChecksumCRC64NVME: &crc}, nil
}

// abort frees what the parts hold. It must also work when the caller's own context is what ended the upload.
func (s *S3) abort(ctx context.Context, key string, id *string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortLimit)
	defer cancel()
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: &key, UploadId: id})
	return s.failed("abort the upload of", key, err)
}

func metadata(u Upload) map[string]string {
	meta := maps.Clone(u.Meta)
	if meta == nil {
		meta = map[string]string{}
	}
	meta[shaKey] = u.Sums.SHA256
	return meta
}
