package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"

	"github.com/minio/crc64nvme"
)

// readBytes are read at once: many enough for few calls of the system, few enough to stay in the processor's cache until
// they are summed up.
const readBytes = 256 << 10

// Sums are the checksums of some content.
type Sums struct {
	SHA256    string // hex
	CRC64NVME string // base64, as S3 writes it
}

// Sum reads the first size bytes and returns their checksums; what others are to be known is written to, too. It returns
// io.ErrUnexpectedEOF if there are fewer.
func Sum(r io.ReaderAt, size int64, others ...hash.Hash) (Sums, error) {
	sha, crc := sha256.New(), crc64nvme.New()
	to := []io.Writer{sha, crc}
	for _, h := range others {
		to = append(to, h)
	}
	buf := make([]byte, min(readBytes, max(size, 1)))
	n, err := io.CopyBuffer(io.MultiWriter(to...), struct{ io.Reader }{io.NewSectionReader(r, 0, size)}, buf)
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return Sums{}, err
	}
	return Sums{SHA256: hex.EncodeToString(sha.Sum(nil)), CRC64NVME: crcText(crc.Sum64())}, nil
}

func crcText(crc uint64) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, crc))
}
