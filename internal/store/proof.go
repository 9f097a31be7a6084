package store

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/minio/crc64nvme"
)

// keeper says what is known of a place that does not name the checksum of what it stored in its answers: whether it keeps
// one at all.
type keeper struct{ is atomic.Int32 }

const (
	keepsUnknown int32 = iota
	keepsSums
	keepsNone
	keepsMD5 // none, but its ETags are the MD5 of what it has
)

// receipt is what a place says of what it stored.
type receipt struct {
	crc  *string
	kind types.ChecksumType
	etag *string
	as   types.ServerSideEncryption
}

// sum is the CRC64NVME of all that was sent, "" if the place does not say it.
func (r receipt) sum() string {
	return answeredSums{kind: r.kind}.whole(r.crc, crc64nvme.Size)
}

// fits returns an error if the place has another checksum than this.
func (r receipt) fits(crc string) error {
	if got := r.sum(); got != "" && got != crc {
		return fmt.Errorf("%w: the place has the CRC64NVME %s of it, what was sent has %s", ErrChecksum, got, crc)
	}
	return nil
}

// md5Of reports whether the ETag is the MD5 of what was sent, as it is where a place neither encrypts with KMS nor has a way of its own.
func (r receipt) md5Of(p piece) (bool, error) {
	sum := md5.New()
	if _, err := io.Copy(sum, io.NewSectionReader(p.content, p.from, p.size)); err != nil {
		return false, err
	}
	return strings.Trim(aws.ToString(r.etag), `"`) == hex.EncodeToString(sum.Sum(nil)), nil
}

// errUnproven says of what was stored that nothing shows that it is what was sent.
var errUnproven = fmt.Errorf("%w: it keeps no checksum (CRC64NVME) of what it stores, and its ETag is not the MD5 of what was sent: "+
	"so nobody can say that it has these bytes", ErrIgnored)

// proven holds that a place has what was sent in one request. A place that compares checksums says which one it compared: S3
// does so in each answer. Of one that does not, the first object is looked at; if it keeps none, the MD5 has to do.
func (s *S3) proven(ctx context.Context, u Upload, p piece, r receipt) error {
	crc := crcText(p.crc)
	if r.sum() != "" {
		return r.fits(crc)
	}
	if s.keeps.is.Load() == keepsUnknown {
		if err := s.lookedAt(ctx, u.Key, crc, r); err != nil {
			return err
		}
	}
	if s.keeps.is.Load() == keepsSums {
		return nil
	}
	is, err := r.md5Of(p)
	switch {
	case err != nil:
		return err
	case is:
		s.keeps.is.Store(keepsMD5)
		return nil
	case s.keeps.is.Load() == keepsMD5:
		return fmt.Errorf("%w: the place has another MD5 of it than what was sent", ErrChecksum)
	}
	return errUnproven
}

// lookedAt asks for the checksum of an object whose upload was not answered with one, and learns whether the place keeps any.
func (s *S3) lookedAt(ctx context.Context, key, crc string, r receipt) error {
	o, err := s.Head(ctx, key)
	if err != nil {
		return err
	}
	if r.etag != nil && o.Version != *r.etag {
		return ErrChanged // somebody else's
	}
	if o.CRC64NVME == "" {
		s.keeps.is.Store(keepsNone)
		return nil
	}
	if err := (receipt{crc: &o.CRC64NVME}).fits(crc); err != nil {
		return err
	}
	s.keeps.is.Store(keepsSums)
	return nil
}

// provenPart holds that a place has a part. Where it does not say so, and the ETag is no MD5, the whole has to be proven.
func (up *session) provenPart(p piece, r receipt) error {
	if r.sum() != "" || up.keeps.is.Load() == keepsSums {
		return r.fits(crcText(p.crc))
	}
	is, err := r.md5Of(p)
	if err == nil && !is {
		up.unproven.Store(true)
	}
	return err
}

// provenWhole holds that a place has what was joined: by its checksum, or by those of its parts.
func (up *session) provenWhole(ctx context.Context, crc string, r receipt) error {
	if r.sum() != "" {
		return r.fits(crc)
	}
	o, err := up.Head(ctx, up.Key)
	if err != nil {
		return err
	}
	switch {
	case r.etag != nil && o.Version != *r.etag:
		return ErrChanged
	case o.CRC64NVME != "":
		return receipt{crc: &o.CRC64NVME}.fits(crc)
	case up.unproven.Load():
		return errUnproven
	}
	return nil
}
