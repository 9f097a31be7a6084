package squashfs

import (
	"fmt"
	"math"
)

// Entry is a name in a directory.
type Entry struct {
	Name string
	Ref  Ref
}

const (
	maxRun       = 256 // entries under one header
	headerSize   = 12
	entrySize    = 8
	phantomBytes = 3 // what squashfs adds to a directory's size
)

// Directory writes a directory's list and inode. Its entries, sorted by name
// bytewise and each once, are written already. Parent is the number of the
// directory that holds it; the root's is one more than the number of inodes.
func (w *Writer) Directory(n *Inode, entries []Entry, parent uint32) (Ref, error) {
	xattrs, err := w.xattrs.set(n.Xattrs)
	if err != nil {
		return Ref{}, err
	}
	list, err := w.list(entries)
	if err != nil {
		return Ref{}, err
	}
	long := xattrs != noXattrs || list.size > math.MaxUint16 || len(list.index) > 0
	b, err := w.head(w.scratch[:0], n, long)
	if err != nil {
		return Ref{}, err
	}
	if list.start.block > math.MaxUint32 || list.size > math.MaxUint32 {
		return Ref{}, fmt.Errorf("directory table: %w", ErrTooBig)
	}
	if !long {
		b = le.AppendUint32(b, uint32(list.start.block))
		b = le.AppendUint32(b, n.Links)
		b = le.AppendUint16(b, uint16(list.size))
		b = le.AppendUint16(b, uint16(list.start.offset))
		b = le.AppendUint32(b, parent)
		return w.place(n, b), nil
	}
	b = le.AppendUint32(b, n.Links)
	b = le.AppendUint32(b, uint32(list.size))
	b = le.AppendUint32(b, uint32(list.start.block))
	b = le.AppendUint32(b, parent)
	b = le.AppendUint16(b, uint16(len(list.index)))
	b = le.AppendUint16(b, uint16(list.start.offset))
	b = le.AppendUint32(b, xattrs)
	for _, i := range list.index {
		b = le.AppendUint32(b, uint32(i.position))
		b = le.AppendUint32(b, uint32(i.block))
		b = le.AppendUint32(b, uint32(len(i.name)-1))
		b = append(b, i.name...)
	}
	return w.place(n, b), nil
}

// list is where a directory's entries went.
type list struct {
	start ref
	size  int64 // with the phantom bytes
	index []indexEntry
}

// indexEntry lets readers of a large directory begin at a later metadata
// block: the first name there, its place in the list, and the block.
type indexEntry struct {
	position, block int64
	name            string
}

// list writes entries in runs, each under a header. A run begins where the
// index points, so one begins in each metadata block.
func (w *Writer) list(entries []Entry) (list, error) {
	l := list{start: w.dirs.at()}
	indexed := l.start.block
	var size int64
	for len(entries) > 0 {
		at := w.dirs.at()
		if at.block != indexed && len(l.index) < math.MaxUint16 {
			l.index = append(l.index, indexEntry{size, at.block, entries[0].Name})
			indexed = at.block
		}
		n, bytes := run(entries, metadataSize-at.offset)
		if err := w.run(entries[:n]); err != nil {
			return l, err
		}
		entries, size = entries[n:], size+bytes
	}
	l.size = size + phantomBytes
	return l, nil
}

// run says how many of the entries go under the next header, and how many
// bytes they take. Entries share a header if their inodes lie in one metadata
// block and have near numbers; a header goes no further than the entry that
// reaches the end of its own metadata block, which room bytes are left of.
func run(entries []Entry, room int) (int, int64) {
	first, bytes := entries[0].Ref, headerSize
	for i, e := range entries {
		delta := int64(e.Ref.number) - int64(first.number)
		if i == maxRun || e.Ref.place.block != first.place.block || delta != int64(int16(delta)) || (i > 0 && bytes >= room) {
			return i, int64(bytes)
		}
		bytes += entrySize + len(e.Name)
	}
	return len(entries), int64(bytes)
}

func (w *Writer) run(entries []Entry) error {
	first := entries[0].Ref
	b := le.AppendUint32(w.scratch[:0], uint32(len(entries)-1))
	b = le.AppendUint32(b, uint32(first.place.block))
	b = le.AppendUint32(b, first.number)
	for _, e := range entries {
		if len(e.Name) == 0 || len(e.Name) > NameMax {
			return fmt.Errorf("name of %d bytes: %w", len(e.Name), ErrTooBig)
		}
		b = le.AppendUint16(b, uint16(e.Ref.place.offset))
		b = le.AppendUint16(b, uint16(e.Ref.number-first.number))
		b = le.AppendUint16(b, uint16(e.Ref.kind))
		b = le.AppendUint16(b, uint16(len(e.Name)-1))
		b = append(b, e.Name...)
	}
	w.dirs.write(b)
	w.scratch = b
	return nil
}
