package store

import (
	"crypto/sha1" // it is what some objects have, and finds what went wrong by chance
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"hash/crc32"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/minio/crc64nvme"
)

// Checksum is one of the whole content that a place keeps of objects which others put, by the algorithm that they chose.
type Checksum struct {
	Algorithm string // CRC32, CRC32C, SHA1; "" for none
	Text      string // base64
}

// Hash sums content up as this checksum does; nil for none.
func (c Checksum) Hash() hash.Hash {
	switch c.Algorithm {
	case "CRC32":
		return crc32.NewIEEE()
	case "CRC32C":
		return crc32.New(crc32.MakeTable(crc32.Castagnoli))
	case "SHA1":
		return sha1.New()
	}
	return nil
}

// Is says whether what was summed up by Hash has this checksum.
func (c Checksum) Is(h hash.Hash) bool {
	return base64.StdEncoding.EncodeToString(h.Sum(nil)) == c.Text
}

// HasSum says whether there is a checksum that the content can be compared with.
func (o Object) HasSum() bool {
	return o.SHA256 != "" || o.CRC64NVME != "" || o.Other.Algorithm != ""
}

// Verify makes a reader of the object's content whose end is io.EOF only if it has the object's size and checksum, else
// ErrChecksum. Without a checksum only the size counts.
func (o Object) Verify(body io.ReadCloser) io.ReadCloser {
	if o.SHA256 != "" || o.CRC64NVME != "" || o.Other.Algorithm == "" {
		return Verify(body, o.SizeBytes, Sums{o.SHA256, o.CRC64NVME})
	}
	return &verified{body: body, size: o.SizeBytes, hash: o.Other.Hash(), sum: base64.StdEncoding.EncodeToString, want: o.Other.Text}
}

// answeredSums are the checksums in an answer of S3's.
type answeredSums struct {
	kind                                       types.ChecksumType
	crc64nvme, crc32, crc32c, sha1of, sha256of *string
}

// add takes those that are of the whole object, and that can be what they are called: some places name others so.
func (a answeredSums) add(o *Object) {
	o.CRC64NVME = a.whole(a.crc64nvme, crc64nvme.Size)
	if raw, err := base64.StdEncoding.DecodeString(a.whole(a.sha256of, sha256.Size)); err == nil && o.SHA256 == "" {
		o.SHA256 = hex.EncodeToString(raw)
	}
	for _, c := range []struct {
		algorithm string
		text      *string
		bytes     int
	}{{"CRC32C", a.crc32c, crc32.Size}, {"CRC32", a.crc32, crc32.Size}, {"SHA1", a.sha1of, sha1.Size}} {
		if text := a.whole(c.text, c.bytes); text != "" && o.Other.Algorithm == "" {
			o.Other = Checksum{c.algorithm, text}
		}
	}
}

// whole is the checksum of a whole object, "" if it is one of the checksums of its parts, or has another length.
func (a answeredSums) whole(text *string, size int) string {
	raw, err := base64.StdEncoding.DecodeString(aws.ToString(text))
	if a.kind == types.ChecksumTypeComposite || err != nil || len(raw) != size {
		return ""
	}
	return *text
}
