package tail

import (
	"bytes"
	"io"
	"io/fs"
	"syscall"
)

// Spot is up to where a file was read that a program writes. The zero value is the beginning of any.
type Spot struct {
	// Offset is the place, Mark what was read last before it.
	Offset int64
	Mark   []byte
	// Inode is which file it is, 0 where that is known otherwise.
	Inode uint64
}

// MarkSize is how much of what was read is compared, in bytes.
const MarkSize = 256

// Holds says that a file is read further from there: it is the same, is not shorter, and what was read last is still there. Else
// it was written anew, or is another.
func (s Spot) Holds(f io.ReaderAt, info fs.FileInfo) bool {
	if s.Inode != 0 && s.Inode != Inode(info) || info.Size() < s.Offset {
		return false
	}
	have := make([]byte, min(int64(len(s.Mark)), s.Offset))
	n, _ := f.ReadAt(have, s.Offset-int64(len(have)))
	return bytes.Equal(have[:n], s.Mark)
}

// Write moves the place behind what was read.
func (s *Spot) Write(p []byte) (int, error) {
	s.Offset += int64(len(p))
	if len(p) < MarkSize {
		s.Mark = append(s.Mark, p...)
		s.Mark = append(s.Mark[:0], s.Mark[max(0, len(s.Mark)-MarkSize):]...)
		return len(p), nil
	}
	s.Mark = append(s.Mark[:0], p[len(p)-MarkSize:]...)
	return len(p), nil
}

// Inode is a file's number.
func Inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
