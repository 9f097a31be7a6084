package data

import (
	"errors"
	"os"
	"syscall"
)

// diskBytes are what a write past the cache has to be a multiple of, in its place and its length: no disk has longer sectors.
const diskBytes = 4 << 10

// uncached writes a large file past the system's cache, where that is known to be of use. All of it has to be on the disk at the end
// anyway; through the cache each byte is copied once more, and the writers of one file wait for each other.
type uncached struct {
	file   *os.File
	direct *os.File // the same file; nil for the usual way
}

// pastCache writes to a file whose parts have so many bytes.
func pastCache(f *os.File, partBytes int64) *uncached {
	u := &uncached{file: f}
	if partBytes%diskBytes == 0 { // else two parts would meet within a sector
		u.direct = direct(f)
	}
	return u
}

// WriteAt implements io.WriterAt. The end of a file, which may be no whole sector, goes the usual way.
func (u *uncached) WriteAt(b []byte, at int64) (int, error) {
	done := 0
	if whole := len(b) &^ (diskBytes - 1); u.direct != nil && whole > 0 {
		n, err := u.direct.WriteAt(b[:whole], at)
		if err != nil && !errors.Is(err, syscall.EINVAL) { // of a disk that wants it otherwise
			return n, err
		}
		done = n
	}
	n, err := u.file.WriteAt(b[done:], at+int64(done))
	return done + n, err
}

func (u *uncached) close() {
	if u.direct != nil {
		u.direct.Close() // what was written is proven by the sync of the file
	}
}
