package layer

import (
	"io"
	"os"
)

// copyPlain copies through memory. It also tells the true error of a copy that
// the kernel could not make, and of a source that is too short.
func copyPlain(to *os.File, at int64, from *os.File, start, n int64) error {
	copied, err := io.CopyBuffer(io.NewOffsetWriter(to, at), onlyReader{io.NewSectionReader(from, start, n)}, make([]byte, 1<<20))
	if err == nil && copied < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}
