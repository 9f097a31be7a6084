package squashfs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"time"
)

// Writer writes the tables of an image. Inodes are written before the
// directory that names them; the root comes last.
type Writer struct {
	file      io.WriterAt
	out       *bufio.Writer
	position  int64 // of out's next byte in the image, once inodes are done
	enc       *Encoder
	modTime   uint32
	start     int64
	inodes    metadata
	dirs      metadata
	dirBytes  bytes.Buffer
	fragments []Fragment
	ids       ids
	export    export
	xattrs    xattrs
	count     uint32
	scratch   []byte
}

// Options are what an image is made of besides its tree.
type Options struct {
	// DataEnd is where data and fragment blocks end and tables may begin.
	DataEnd int64
	// Fragments are the fragment blocks, in the order of their numbers.
	Fragments []Fragment
	// ModTime is when the image says it was made.
	ModTime time.Time
}

// NewWriter begins the tables of an image in file.
func NewWriter(file io.WriterAt, o Options) *Writer {
	w := &Writer{
		file: file, out: bufio.NewWriterSize(io.NewOffsetWriter(file, o.DataEnd), 256<<10),
		enc: NewEncoder(), start: o.DataEnd, modTime: stamp(o.ModTime), fragments: o.Fragments,
		ids: ids{places: map[uint32]uint16{}}, xattrs: xattrs{known: map[string]uint32{}},
	}
	w.inodes = metadata{out: w.out, enc: w.enc}
	w.dirs = metadata{out: &w.dirBytes, enc: w.enc}
	w.xattrs.pairs = metadata{out: &w.xattrs.out, enc: w.enc}
	return w
}

// Close writes the remaining tables and the superblock, and returns how many
// bytes the image has. The file may be longer; readers ignore what follows.
func (w *Writer) Close(root Ref) (int64, error) {
	if len(w.export) != int(w.count) {
		return 0, fmt.Errorf("inode numbers go to %d, but there are %d inodes", len(w.export), w.count)
	}
	if len(w.fragments) >= math.MaxInt32 {
		return 0, fmt.Errorf("%d fragment blocks: %w", len(w.fragments), ErrTooBig)
	}
	if err := w.inodes.flush(); err != nil {
		return 0, err
	}
	if err := w.dirs.flush(); err != nil {
		return 0, err
	}
	if w.inodes.written > math.MaxUint32 || w.dirs.written > math.MaxUint32 {
		return 0, fmt.Errorf("tables of %d and %d bytes: %w", w.inodes.written, w.dirs.written, ErrTooBig)
	}
	w.position = w.start + w.inodes.written
	s := superblock{
		Magic: magic, Inodes: w.count, ModTime: w.modTime, BlockSize: BlockSize, Fragments: uint32(len(w.fragments)),
		Compression: compressionZstd, BlockLog: blockLog, Flags: flagDuplicates | flagExport,
		IDs: uint16(len(w.ids.list)), Major: 4, Root: root.place.packed(),
		InodeTable: uint64(w.start), DirTable: uint64(w.position),
	}
	n, err := w.out.Write(w.dirBytes.Bytes())
	w.position += int64(n)
	if err != nil {
		return 0, err
	}
	if err := w.tables(&s); err != nil {
		return 0, err
	}
	if err := w.out.Flush(); err != nil {
		return 0, err
	}
	_, err = w.file.WriteAt(s.bytes(), 0)
	return w.position, err
}

// tables writes what follows the directories, in the one order that the kernel
// accepts.
func (w *Writer) tables(s *superblock) (err error) {
	if s.FragTable, err = w.fragmentTable(); err != nil {
		return err
	}
	if s.ExportTable, err = w.exportTable(); err != nil {
		return err
	}
	if s.IDTable, err = w.idTable(); err != nil {
		return err
	}
	if s.XattrTable, err = w.xattrTable(); err != nil {
		return err
	}
	if s.FragTable == absent {
		s.Flags |= flagNoFragments
	}
	if s.XattrTable == absent {
		s.Flags |= flagNoXattrs
	}
	s.BytesUsed = uint64(w.position)
	return nil
}
