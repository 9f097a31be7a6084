package squashfs

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Type is what an inode is.
type Type uint16

// Types, with the numbers that squashfs gives them.
const (
	Dir Type = 1 + iota
	File
	Symlink
	BlockDevice
	CharDevice
	Fifo
	Socket
)

// extended is the distance from a type's number to its extended form.
const extended Type = 7

// noXattrs is the attribute set of an inode that has none.
const noXattrs = math.MaxUint32

// Inode describes a file, a directory or what else has a name.
type Inode struct {
	// Number is unique, from 1 to the number of inodes.
	Number uint32
	Type   Type
	// Mode has the permission bits, set-user-ID, set-group-ID and sticky.
	Mode     uint16
	UID, GID uint32
	// ModTime is in seconds since 1970; squashfs holds those up to 2106.
	ModTime int64
	// Links is how many names it has, or for a directory 2 and its subdirectories.
	Links uint32
	// Xattrs are sorted by name.
	Xattrs []Xattr

	// Target is a symlink's.
	Target string
	// Major and Minor are a device's.
	Major, Minor uint32
	// File's content.
	Content Content
}

// Content is where a file's bytes lie.
type Content struct {
	Size uint64
	// Start is where the first block is stored; the others follow it.
	Start uint64
	// Blocks are the size words of its blocks; 0 is a block of zeros that is
	// not stored. A fragment takes the place of the last block, if that is
	// smaller than BlockSize.
	Blocks []uint32
	// Fragment is the number of a fragment block, or NoFragment; Offset is the
	// place in it.
	Fragment, Offset uint32
}

// sparse is how many bytes are not stored.
func (c *Content) sparse() uint64 {
	var n uint64
	for i, word := range c.Blocks {
		if word == 0 {
			n += min(BlockSize, c.Size-uint64(i)*BlockSize)
		}
	}
	return n
}

// Device limits of squashfs: Linux's 12 and 20 bits.
const (
	maxMajor = 1<<12 - 1
	maxMinor = 1<<20 - 1
)

// Ref names a written inode in a directory.
type Ref struct {
	place  ref
	number uint32
	kind   Type
}

// Inode writes an inode that is no directory. The caller keeps the result for
// each of its names.
func (w *Writer) Inode(n *Inode) (Ref, error) {
	xattrs, err := w.xattrs.set(n.Xattrs)
	if err != nil {
		return Ref{}, err
	}
	b := w.scratch[:0]
	switch n.Type {
	case File:
		b, err = w.regular(b, n, xattrs)
	case Symlink:
		b, err = w.symlink(b, n, xattrs)
	case BlockDevice, CharDevice:
		b, err = w.device(b, n, xattrs)
	case Fifo, Socket:
		b, err = w.head(b, n, xattrs != noXattrs)
		b = appendXattrs(le.AppendUint32(b, n.Links), xattrs)
	default:
		err = fmt.Errorf("inode of type %d", n.Type)
	}
	if err != nil {
		return Ref{}, err
	}
	return w.place(n, b), nil
}

var le = binary.LittleEndian

// place adds an encoded inode to the table.
func (w *Writer) place(n *Inode, b []byte) Ref {
	r := Ref{place: w.inodes.at(), number: n.Number, kind: n.Type}
	w.inodes.write(b)
	w.scratch = b
	w.count++
	w.export.add(n.Number, r.place)
	return r
}

// head begins an inode with what all have.
func (w *Writer) head(b []byte, n *Inode, long bool) ([]byte, error) {
	kind := n.Type
	if long {
		kind += extended
	}
	uid, err := w.ids.index(n.UID)
	if err != nil {
		return nil, err
	}
	gid, err := w.ids.index(n.GID)
	if err != nil {
		return nil, err
	}
	b = le.AppendUint16(b, uint16(kind))
	b = le.AppendUint16(b, n.Mode&0o7777)
	b = le.AppendUint16(b, uid)
	b = le.AppendUint16(b, gid)
	b = le.AppendUint32(b, seconds(n.ModTime))
	return le.AppendUint32(b, n.Number), nil
}

func appendXattrs(b []byte, xattrs uint32) []byte {
	if xattrs == noXattrs {
		return b
	}
	return le.AppendUint32(b, xattrs)
}

func (w *Writer) regular(b []byte, n *Inode, xattrs uint32) ([]byte, error) {
	c, sparse := &n.Content, n.Content.sparse()
	long := xattrs != noXattrs || n.Links > 1 || sparse > 0 || c.Size > math.MaxUint32 || c.Start > math.MaxUint32
	b, err := w.head(b, n, long)
	if err != nil {
		return nil, err
	}
	if long {
		b = le.AppendUint64(b, c.Start)
		b = le.AppendUint64(b, c.Size)
		b = le.AppendUint64(b, sparse)
		b = le.AppendUint32(b, n.Links)
		b = le.AppendUint32(b, c.Fragment)
		b = le.AppendUint32(b, c.Offset)
		b = le.AppendUint32(b, xattrs)
	} else {
		b = le.AppendUint32(b, uint32(c.Start))
		b = le.AppendUint32(b, c.Fragment)
		b = le.AppendUint32(b, c.Offset)
		b = le.AppendUint32(b, uint32(c.Size))
	}
	for _, word := range c.Blocks {
		b = le.AppendUint32(b, word)
	}
	return b, nil
}

func (w *Writer) symlink(b []byte, n *Inode, xattrs uint32) ([]byte, error) {
	if len(n.Target) == 0 || len(n.Target) > TargetMax {
		return nil, fmt.Errorf("symlink target of %d bytes: %w", len(n.Target), ErrTooBig)
	}
	b, err := w.head(b, n, xattrs != noXattrs)
	b = le.AppendUint32(b, n.Links)
	b = le.AppendUint32(b, uint32(len(n.Target)))
	return appendXattrs(append(b, n.Target...), xattrs), err
}

func (w *Writer) device(b []byte, n *Inode, xattrs uint32) ([]byte, error) {
	if n.Major > maxMajor || n.Minor > maxMinor {
		return nil, fmt.Errorf("device number %d:%d: %w", n.Major, n.Minor, ErrTooBig)
	}
	b, err := w.head(b, n, xattrs != noXattrs)
	b = le.AppendUint32(b, n.Links)
	b = le.AppendUint32(b, n.Minor&0xff|n.Major<<8|n.Minor&^0xff<<12)
	return appendXattrs(b, xattrs), err
}
