package data

import (
	"bytes"
	"io"
)

// zeros are compared with what is written: as many of them in a row are left out, and the file has a hole there.
var zeros [64 << 10]byte

// writeSparse writes to a file, whose place for b holds nothing but zeros, and leaves out what is nothing else.
func writeSparse(f io.WriterAt, b []byte, at int64) error {
	for len(b) > 0 {
		n := dense(b)
		if n > 0 {
			if _, err := f.WriteAt(b[:n], at); err != nil {
				return err
			}
		}
		b, at = b[n:], at+int64(n)
		for len(b) >= len(zeros) && bytes.Equal(b[:len(zeros)], zeros[:]) {
			b, at = b[len(zeros):], at+int64(len(zeros))
		}
	}
	return nil
}

// dense is how many bytes come before the first stretch of zeros.
func dense(b []byte) int {
	n := 0
	for len(b)-n >= len(zeros) && !bytes.Equal(b[n:n+len(zeros)], zeros[:]) {
		n += len(zeros)
	}
	if len(b)-n < len(zeros) {
		return len(b)
	}
	return n
}

// isZero says whether all of b, which is at most a piece, is zeros.
func isZero(b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), len(zeros))
		if !bytes.Equal(b[:n], zeros[:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}
