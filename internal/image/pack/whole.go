package pack

import (
	"errors"
	"fmt"
	"io"
)

// wholeTar passes a tar stream on and fails at its end if that is not an
// archive's: at least two blocks of zeros (pax, POSIX.1). Programs that die while
// they write a tar leave streams without.
type wholeTar struct {
	r      io.Reader
	origin string
	zeros  int
}

// endOfArchive is the length of the two blocks, in bytes.
const endOfArchive = 2 * 512

func (w *wholeTar) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.count(p[:n])
	if errors.Is(err, io.EOF) && w.zeros < endOfArchive {
		return n, fmt.Errorf("%s is no tar archive, or ends too early", w.origin)
	}
	return n, err
}

// count keeps the number of zeros that the stream ends with, as far as it counts.
func (w *wholeTar) count(p []byte) {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0 {
			w.zeros = len(p) - 1 - i
			return
		}
		if len(p)-i >= endOfArchive {
			w.zeros = endOfArchive
			return
		}
	}
	w.zeros += len(p)
}
