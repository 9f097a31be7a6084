package store

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

// session is an upload in parts.
type session struct {
	*S3
	Upload
	id   *string
	part int64                // bytes; the last may have less
	have map[int32]types.Part // what was sent before

	unproven atomic.Bool // the place says nothing of a part that shows that it is what was sent
}

func (s *S3) putParts(ctx context.Context, u Upload, c condition) (Object, error) {
	up, err := s.resume(ctx, u)
	if errors.Is(err, errNoUpload) {
		if o, done, err := s.joined(ctx, u); done || err != nil {
			return o, err
		}
		up, err = s.begin(ctx, u)
	}
	if err != nil {
		return Object{}, err
	}
	o, err := up.fill(ctx, c)
	if err != nil && !up.outlives(err) {
		return o, errors.Join(err, s.Abort(context.WithoutCancel(ctx), u.Key, *up.id))
	}
	return o, err
}

// begin makes a new upload.
func (s *S3) begin(ctx context.Context, u Upload) (*session, error) {
	begun, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket:               &s.bucket,
		Key:                  &u.Key,
		Metadata:             metadata(u, u.Sums.SHA256),
		ChecksumAlgorithm:    types.ChecksumAlgorithmCrc64nvme,
		ChecksumType:         types.ChecksumTypeFullObject,
		StorageClass:         types.StorageClass(u.Class),
		ServerSideEncryption: u.encryption(),
		SSEKMSKeyId:          u.keyID(),
	})
	if err != nil {
		return nil, err
	}
	up := s.session(u, begun.UploadId)
	err = u.encrypted(begun.ServerSideEncryption)
	if err == nil && u.Begun != nil {
		err = u.Begun(*up.id)
	}
	if err != nil {
		return nil, errors.Join(err, s.Abort(context.WithoutCancel(ctx), u.Key, *up.id))
	}
	return up, nil
}

func (s *S3) session(u Upload, id *string) *session {
	part := max(s.limits.part, (u.SizeBytes+s.limits.parts-1)/s.limits.parts)
	return &session{S3: s, Upload: u, id: id, part: part, have: map[int32]types.Part{}}
}

// outlives reports whether what was sent is of use to the next Put.
func (up *session) outlives(err error) bool {
	if up.Begun == nil && up.Resume == "" {
		return false
	}
	_, other := errors.AsType[otherBody](err)
	return !other && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrChanged) && !errors.Is(err, ErrIgnored)
}

// fill sends the parts and joins them.
func (up *session) fill(ctx context.Context, c condition) (Object, error) {
	parts, sums, err := up.sendParts(ctx)
	if err != nil {
		return Object{}, err
	}
	patience := up.idle + time.Duration(up.SizeBytes/assemblyBytes)*time.Second
	tries := &again{}
	done, err := up.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket:            &up.bucket,
		Key:               &up.Key,
		UploadId:          up.id,
		MultipartUpload:   &types.CompletedMultipartUpload{Parts: parts},
		ChecksumType:      types.ChecksumTypeFullObject,
		ChecksumCRC64NVME: &sums.CRC64NVME,
		MpuObjectSize:     &up.SizeBytes,
		IfMatch:           c.match,
		IfNoneMatch:       c.none,
	}, func(o *s3.Options) { o.HTTPClient = idleClient{up.http, patience, up.pace, nil} }, up.again(tries))
	o := Object{}
	if err == nil {
		err, o = up.provenWhole(ctx, sums.CRC64NVME, receipt{crc: done.ChecksumCRC64NVME, kind: done.ChecksumType, etag: done.ETag}), up.stored(sums, done.ETag)
		if err != nil {
			return Object{}, err
		}
	} else if o, err = up.putAfterAll(ctx, up.Upload, sums, c.judge(err), tries.count); err != nil {
		return o, err
	}
	return up.inParts(o, parts), nil
}

// inParts says of an object how it was sent.
func (up *session) inParts(o Object, parts []types.CompletedPart) Object {
	o.PartBytes = up.part
	for _, p := range parts {
		o.Parts = append(o.Parts, *p.ChecksumCRC64NVME)
	}
	return o
}

// sendParts reads the parts in order and sends some at a time. If anything fails, all of it ends.
func (up *session) sendParts(ctx context.Context) ([]types.CompletedPart, Sums, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	parts := make([]types.CompletedPart, (up.SizeBytes+up.part-1)/up.part)
	sums, err := up.source(up.Upload).pieces(ctx, up.part, func(i int, p piece) {
		group.Go(func() (err error) {
			defer p.free()
			parts[i], err = up.sendPart(ctx, int32(i+1), p)
			return err
		})
	})
	if err != nil {
		stop(err)
	}
	sendErr := group.Wait()
	return parts, sums, cmp.Or(err, sendErr)
}

func (up *session) sendPart(ctx context.Context, number int32, p piece) (types.CompletedPart, error) {
	crc := crcText(p.crc)
	if had, ok := up.have[number]; ok && p.sentAs(had, crc) {
		if up.Kept != nil {
			up.Kept(p.size)
		}
		return types.CompletedPart{ETag: had.ETag, PartNumber: &number, ChecksumCRC64NVME: &crc}, nil
	}
	out, err := up.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket:            &up.bucket,
		Key:               &up.Key,
		UploadId:          up.id,
		PartNumber:        &number,
		Body:              up.sender(p),
		ContentLength:     &p.size,
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme,
		ChecksumCRC64NVME: &crc,
	}, unsigned, up.again(&again{body: p.held}))
	if err != nil {
		return types.CompletedPart{}, err
	}
	return types.CompletedPart{ETag: out.ETag, PartNumber: &number, ChecksumCRC64NVME: &crc}, up.provenPart(p, receipt{crc: out.ChecksumCRC64NVME, etag: out.ETag})
}
