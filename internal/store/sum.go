package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"hash/crc64"
	"io"
	"sync"
)

// hashBuffer is large enough to make the per-call cost of CRC-64 vanish.
const hashBuffer = 1 << 20

// Sums are the checksums of some content.
type Sums struct {
	SHA256    string // hex
	CRC64NVME string // base64, as S3 writes it
}

// nvme is the table of CRC64NVME. It is made at the first use: most commands never need it.
var nvme = sync.OnceValue(func() *crc64.Table { return crc64.MakeTable(0x9a6c9329ac4bc9b5) })

// Sum reads the first size bytes and returns their checksums. It returns io.ErrUnexpectedEOF if there are fewer.
func Sum(r io.ReaderAt, size int64) (Sums, error) {
	sha, crc := sha256.New(), crc64.New(nvme())
	if err := feed(io.MultiWriter(sha, crc), r, 0, size); err != nil {
		return Sums{}, err
	}
	return Sums{SHA256: hex.EncodeToString(sha.Sum(nil)), CRC64NVME: crcText(crc)}, nil
}

// crcOf is the CRC64NVME of a part.
func crcOf(r io.ReaderAt, offset, size int64) (string, error) {
	crc := crc64.New(nvme())
	if err := feed(crc, r, offset, size); err != nil {
		return "", err
	}
	return crcText(crc), nil
}

func crcText(h hash.Hash) string {
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

func feed(w io.Writer, r io.ReaderAt, offset, size int64) error {
	buf := make([]byte, min(hashBuffer, max(size, 1)))
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{io.NewSectionReader(r, offset, size)}, buf)
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	return err
}
