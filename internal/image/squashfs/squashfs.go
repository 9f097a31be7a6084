// Package squashfs writes squashfs 4.0 images with zstd: the tables that
// describe a tree, behind data blocks that the caller has placed. The kernel,
// squashfuse and unsquashfs read its images. It also reads a superblock
// and its id table, from files that may be hostile.
//
// The same input gives the same bytes. It knows nothing of container images.
//
// An image is, in this order:
//
//	superblock · data and fragment blocks · inodes · directories ·
//	fragment table · export table · id table · extended attributes
package squashfs

import (
	"encoding/binary"
	"errors"
	"math"
	"time"
)

const (
	// BlockSize is the size of an uncompressed data block in bytes.
	BlockSize = 128 << 10
	// DataStart is where data blocks may begin.
	DataStart = superblockSize
	// Raw marks a block's size word: the block is stored as it is.
	Raw uint32 = 1 << 24
	// NoFragment is the fragment of a file that has none.
	NoFragment uint32 = math.MaxUint32

	// NameMax and TargetMax are the longest name and symlink target in bytes
	// that Linux takes, XattrNameMax and XattrValueMax the longest name and
	// value of an extended attribute.
	NameMax       = 255
	TargetMax     = 4095
	XattrNameMax  = 255
	XattrValueMax = 64 << 10
)

// ErrTooBig says that something does not fit into squashfs's fields.
var ErrTooBig = errors.New("too big for squashfs")

const (
	superblockSize = 96
	magic          = 0x73717368
	blockLog       = 17
	absent         = math.MaxUint64 // stands for the place of a table that the image does not have
)

const (
	flagNoFragments = 0x10
	flagDuplicates  = 0x40
	flagExport      = 0x80
	flagNoXattrs    = 0x200
)

// compression numbers of the superblock, by position.
var compressions = []string{"", "gzip", "lzma", "lzo", "xz", "lz4", "zstd"}

const (
	compressionGzip = 1
	compressionZstd = 6
)

// superblock is the first 96 bytes of an image, in its order.
type superblock struct {
	Magic       uint32
	Inodes      uint32
	ModTime     uint32
	BlockSize   uint32
	Fragments   uint32
	Compression uint16
	BlockLog    uint16
	Flags       uint16
	IDs         uint16
	Major       uint16
	Minor       uint16
	Root        uint64
	BytesUsed   uint64
	IDTable     uint64
	XattrTable  uint64
	InodeTable  uint64
	DirTable    uint64
	FragTable   uint64
	ExportTable uint64
}

func (s *superblock) bytes() []byte {
	b, err := binary.Append(make([]byte, 0, superblockSize), binary.LittleEndian, s)
	if err != nil {
		panic(err) // a struct of numbers always has bytes
	}
	return b
}

// seconds is a time as squashfs has it: whole seconds from 1970 to 2106;
// earlier and later ones become the nearest.
func seconds(t int64) uint32 { return uint32(min(max(t, 0), math.MaxUint32)) }

func stamp(t time.Time) uint32 {
	if t.IsZero() {
		return 0
	}
	return seconds(t.Unix())
}
