package layer

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// keySize is the size of a content's key: its SHA-256, or for a file of whole
// blocks that of its size and of its blocks' sizes and hashes.
const keySize = sha256.Size

// segmentWriter turns entries into a segment's blocks and index. Its first
// fields belong to the goroutine that reads the tar.
type segmentWriter struct {
	workers  *workers
	queue    *queue
	next     func() (*block, error) // waits for a free block
	limits   Limits
	count    int64                  // entries so far
	bytes    int64                  // of files so far
	meta     int64                  // of names and attributes so far
	fragment *block                 // is being filled; nil: none
	number   uint32                 // of fragment
	known    map[[keySize]byte]spot // what fragments hold

	layout
}

// layout is what a segment's file has so far. It belongs to the queue until
// that is closed.
type layout struct {
	file      *os.File
	end       int64    // of the blocks
	synced    int64    // up to here they are on their way to disk
	start     int64    // of the file that is being written
	words     []uint32 // of its blocks
	sum       hash.Hash
	index     indexWriter
	fragments []fragment
	sums      sums
}

// spot is a place in a fragment block.
type spot struct{ fragment, offset uint32 }

func newSegmentWriter(ctx context.Context, w *workers, f *os.File, l Limits) *segmentWriter {
	return &segmentWriter{
		workers: w, queue: w.queue(), next: func() (*block, error) { return w.block(ctx) },
		limits: l, known: map[[keySize]byte]spot{}, layout: layout{file: f, sum: sha256.New()},
	}
}

// close waits until all is written.
func (w *segmentWriter) close() error {
	err := w.flush()
	if wait := w.queue.close(); err == nil {
		err = wait
	}
	return err
}

// entry adds an entry whose content t reads.
func (w *segmentWriter) entry(t io.Reader, h *tar.Header) error {
	e, err := newEntry(h)
	if e == nil || err != nil {
		return err
	}
	if e.kind == kindFile {
		e.content.size = h.Size
	}
	if err := w.account(e); err != nil {
		return err
	}
	switch {
	case e.kind != kindFile || e.content.size == 0:
	case e.content.small():
		err = w.small(t, e)
	default:
		return w.large(t, e)
	}
	if err != nil {
		return err
	}
	return w.queue.then(func() error {
		w.index.add(e)
		return nil
	})
}

// account holds an entry against the limits.
func (w *segmentWriter) account(e *entry) error {
	w.count++
	w.bytes += e.content.size
	w.meta += int64(len(e.dir)+len(e.base)+len(e.link)) + 4*blockCount(e.content.size)
	for _, x := range e.xattrs {
		w.meta += int64(len(x.Name) + len(x.Value))
	}
	switch {
	case w.count > w.limits.Entries:
		return fmt.Errorf("%w: the layer has more than %d entries", ErrLimit, w.limits.Entries)
	case e.content.size > w.limits.Bytes || w.bytes > w.limits.Bytes:
		return fmt.Errorf("%w: the layer's files have more than %d bytes", ErrLimit, w.limits.Bytes)
	case w.meta > w.limits.Index:
		return fmt.Errorf("%w: the layer's names and attributes have more than %d bytes", ErrLimit, w.limits.Index)
	}
	return nil
}

// small puts a file into the fragment block that is being filled, unless its
// content is in one already.
func (w *segmentWriter) small(t io.Reader, e *entry) error {
	size := int(e.content.size)
	if w.fragment != nil && len(w.fragment.data)+size > squashfs.BlockSize {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.fragment == nil {
		var err error
		if w.fragment, err = w.next(); err != nil {
			return err
		}
	}
	at := len(w.fragment.data)
	piece := w.fragment.data[at : at+size]
	if _, err := io.ReadFull(t, piece); err != nil {
		return damaged(err)
	}
	key := sha256.Sum256(piece)
	place, ok := w.known[key]
	if !ok {
		place = spot{w.number, uint32(at)}
		w.known[key] = place
		w.fragment.data = w.fragment.data[:at+size]
	}
	e.content.key, e.content.fragment, e.content.offset = string(key[:]), place.fragment, place.offset
	return nil
}

// flush ends the fragment block that is being filled.
func (w *segmentWriter) flush() error {
	b := w.fragment
	if b == nil {
		return nil
	}
	w.fragment = nil
	if len(b.data) == 0 {
		w.workers.free(b)
		return nil
	}
	w.number++
	return w.queue.put(b, false, func() error {
		w.fragments = append(w.fragments, fragment{start: w.end, word: b.word, size: uint32(len(b.data))})
		return w.write(b.stored)
	})
}

// large writes a file as blocks of its own.
func (w *segmentWriter) large(t io.Reader, e *entry) error {
	err := w.queue.then(func() error {
		w.start, w.words = w.end, w.words[:0]
		w.sum.Reset()
		return nil
	})
	for left := e.content.size; left > 0 && err == nil; left -= squashfs.BlockSize {
		err = w.data(t, int(min(left, squashfs.BlockSize)))
	}
	if err != nil {
		return err
	}
	return w.queue.then(func() error {
		w.sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(e.content.size)))
		e.content.key = string(w.sum.Sum(nil))
		e.content.start, e.content.words = w.start, w.words
		w.index.add(e)
		return nil
	})
}

// data writes the next block of a file.
func (w *segmentWriter) data(t io.Reader, size int) error {
	b, err := w.next()
	if err != nil {
		return err
	}
	b.data = b.data[:size]
	if _, err := io.ReadFull(t, b.data); err != nil {
		w.workers.free(b)
		return damaged(err)
	}
	return w.queue.put(b, true, func() error {
		w.words = append(w.words, b.word)
		w.sum.Write(binary.LittleEndian.AppendUint32(b.sum[:], b.word))
		return w.write(b.stored)
	})
}

// write adds stored bytes to the file.
func (l *layout) write(b []byte) error {
	if _, err := l.file.WriteAt(b, l.end); err != nil {
		return err
	}
	l.sums.add(b)
	l.end += int64(len(b))
	l.synced = writeOut(l.file, l.synced, l.end)
	return nil
}
