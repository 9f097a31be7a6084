package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/minio/crc64nvme"
)

// verified passes a body on and judges it at its end.
type verified struct {
	body io.ReadCloser
	size int64 // expected, in bytes
	read int64
	hash hash.Hash // nil if there is no checksum to compare with
	sum  func([]byte) string
	want string
	end  error // what Read returns from now on
}

// Verify makes a reader whose end is io.EOF only if it had the given size and the content of the given sums; else it
// is ErrChecksum. SHA256 counts if it is known, else CRC64NVME, else only the size.
func Verify(body io.ReadCloser, size int64, want Sums) io.ReadCloser {
	v := &verified{body: body, size: size}
	switch {
	case want.SHA256 != "":
		v.hash, v.want = sha256.New(), want.SHA256
		v.sum = hex.EncodeToString
	case want.CRC64NVME != "":
		v.hash, v.want, v.sum = crc64nvme.New(), want.CRC64NVME, base64.StdEncoding.EncodeToString
	}
	return v
}

func (v *verified) Read(p []byte) (int, error) {
	if v.end != nil {
		return 0, v.end
	}
	n, err := v.body.Read(p)
	v.read += int64(n)
	if v.hash != nil {
		v.hash.Write(p[:n])
	}
	if err == io.EOF {
		err = v.verdict()
	}
	v.end = err
	return n, err
}

func (v *verified) verdict() error {
	if v.read != v.size {
		return fmt.Errorf("%w: %d bytes came, not %d", ErrChecksum, v.read, v.size)
	}
	if v.hash == nil {
		return io.EOF
	}
	if got := v.sum(v.hash.Sum(nil)); got != v.want {
		return fmt.Errorf("%w: got %s, want %s", ErrChecksum, got, v.want)
	}
	return io.EOF
}

func (v *verified) Close() error { return v.body.Close() }
