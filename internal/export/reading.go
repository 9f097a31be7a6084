package export

import (
	"errors"
	"io"
	"os"

	"github.com/muster-hpc/muster/internal/store"
)

// reading is an open file that is read as it was planned, and whose reading is told.
type reading struct {
	file  *os.File
	want  File
	track *Track
}

// ReadAt implements io.ReaderAt. What goes wrong is of the file: nothing else is hurt.
func (r reading) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.file.ReadAt(p, at)
	r.track.moved(int64(n))
	switch {
	case err == io.EOF && at+int64(n) < r.want.SizeBytes:
		return n, local{errors.Join(io.ErrUnexpectedEOF, r.same())}
	case err != nil && err != io.EOF:
		return n, local{err}
	}
	return n, err
}

// sums reads the file for its checksums alone.
func (r reading) sums() (store.Sums, error) {
	sums, err := store.Sum(r, r.want.SizeBytes)
	if err := errors.Join(err, r.same()); err != nil {
		return sums, local{err}
	}
	return sums, nil
}

// same compares the file with the one in the plan. A log may have grown: what was planned is its beginning.
func (r reading) same() error {
	info, err := r.file.Stat()
	if err != nil {
		return local{err}
	}
	now := described(r.want.Path, info)
	if unchanged(now, r.want) || grows(r.want) && now.Inode == r.want.Inode && now.SizeBytes > r.want.SizeBytes {
		return nil
	}
	return local{errChanged}
}

// grows says that a part of a file is worth having, as programs append to it.
func grows(f File) bool { return growing(f.Path) && !pointerName(f.Path) }
