// Package part reads parts of files of this machine, several at once. It reads none of a file that FSx for Lustre has released:
// that would bring all of it back.
package part

import (
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
)

// atOnce is how many parts are read at once: on Lustre each is on its way for a while.
const atOnce = 16

// Reads are reads of parts of files. They may be made from one goroutine at a time.
type Reads struct {
	Open func(path string) (*os.File, error) // of an ordinary file; called from many goroutines
	Left int                                 // so many parts may still be read: those behind say nothing
}

// Reader reads parts of files below the directory of a checkpoint. What cannot be read says nothing.
func (r *Reads) Reader(path func(string) string) checkpoint.Reader {
	return func(spans []checkpoint.Span) ([][]byte, error) {
		texts := make([][]byte, len(spans))
		slots, group := make(chan struct{}, atOnce), sync.WaitGroup{}
		for i, span := range spans[:min(len(spans), r.Left)] {
			slots <- struct{}{}
			group.Go(func() {
				defer func() { <-slots }()
				texts[i] = r.read(path(span.Path), span)
			})
		}
		group.Wait()
		r.Left -= min(len(spans), r.Left)
		return texts, nil
	}
}

// read returns nil for what cannot be read, and less than a part of a file that is shorter.
func (r *Reads) read(path string, s checkpoint.Span) []byte {
	f, err := r.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || released(info) {
		return nil
	}
	b := make([]byte, s.Bytes)
	n, err := f.ReadAt(b, s.From)
	if err != nil && err != io.EOF {
		return nil
	}
	return b[:n]
}

// released reports whether the content of a file is elsewhere: it has no block here though it has more bytes than file systems
// keep beside a file's name.
func released(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Blocks <= 1 && info.Size() > 64<<10
}
