package store

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// resume finds what was sent by an upload that an earlier Put began. It returns errNoUpload if there is none.
func (s *S3) resume(ctx context.Context, u Upload) (*session, error) {
	if u.Resume == "" {
		return nil, errNoUpload
	}
	up := s.session(u, &u.Resume)
	pages := s3.NewListPartsPaginator(s.client, &s3.ListPartsInput{Bucket: &s.bucket, Key: &u.Key, UploadId: up.id})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, reason(err)
		}
		for _, p := range page.Parts {
			up.have[aws.ToInt32(p.PartNumber)] = p
		}
	}
	return up, nil
}

// sentAs reports whether a part that the place has is this piece. Where it keeps no checksum of parts, their MD5 is
// what S3 has as the ETag; an ETag that is something else never fits, so that the part is sent again.
func (p piece) sentAs(had types.Part, crc string) bool {
	if aws.ToInt64(had.Size) != p.size {
		return false
	}
	if had.ChecksumCRC64NVME != nil {
		return *had.ChecksumCRC64NVME == crc
	}
	sum := md5.New()
	_, err := io.Copy(sum, io.NewSectionReader(p.content, p.from, p.size))
	return err == nil && strings.Trim(aws.ToString(had.ETag), `"`) == hex.EncodeToString(sum.Sum(nil))
}

// joined reports whether the parts of an upload that is not under way any more were joined, and only nobody heard of it.
// The content is read for that if the object has its size and its metadata.
func (s *S3) joined(ctx context.Context, u Upload) (Object, bool, error) {
	if u.Resume == "" {
		return Object{}, false, nil
	}
	o, err := s.Head(ctx, u.Key)
	if errors.Is(err, ErrNotFound) {
		return Object{}, false, nil
	}
	if err != nil || o.SizeBytes != u.SizeBytes || o.CRC64NVME == "" || !maps.Equal(o.Meta, u.Meta) {
		return Object{}, false, err
	}
	up := s.session(u, &u.Resume)
	var parts []types.CompletedPart
	sums, err := s.source(u).pieces(ctx, up.part, func(_ int, p piece) {
		crc := crcText(p.crc)
		parts = append(parts, types.CompletedPart{ChecksumCRC64NVME: &crc})
		p.free()
	})
	if err != nil || sums.CRC64NVME != o.CRC64NVME {
		return Object{}, false, err
	}
	if u.Kept != nil {
		u.Kept(u.SizeBytes)
	}
	return up.inParts(u.stored(sums, &o.Version), parts), true, nil
}

// Abort implements Store. It may be asked for when the caller's own context has ended, and so has a limit of its own.
func (s *S3) Abort(ctx context.Context, key, upload string) error {
	ctx, cancel := context.WithTimeout(ctx, abortLimit)
	defer cancel()
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: &key, UploadId: &upload})
	if err != nil && errors.Is(reason(err), errNoUpload) {
		return nil
	}
	return s.failed("abort the upload of", key, err)
}
