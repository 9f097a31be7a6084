package squashfs

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// ErrFormat says that a file is no squashfs 4.0 image, or a damaged one.
var ErrFormat = errors.New("no squashfs image")

// ErrCompression says that an image's id table is compressed in a way that
// Probe cannot read.
var ErrCompression = errors.New("unknown compression")

// Info is what an image's superblock and id table say.
type Info struct {
	BytesUsed   int64
	ModTime     time.Time
	BlockSize   int
	Inodes      int
	Compression string
	// IDs are the users and groups that own something.
	IDs []uint32
}

// OnlyRoot says whether everything belongs to user and group 0.
func (i Info) OnlyRoot() bool {
	return len(i.IDs) > 0 && !slices.ContainsFunc(i.IDs, func(id uint32) bool { return id != 0 })
}

// Probe reads the superblock and the id table. It reads at most a few hundred
// kilobytes and believes nothing that it reads.
func Probe(r io.ReaderAt) (Info, error) {
	var s superblock
	head := make([]byte, superblockSize)
	if _, err := r.ReadAt(head, 0); err != nil {
		return Info{}, fmt.Errorf("%w: read superblock: %w", ErrFormat, err)
	}
	if _, err := binary.Decode(head, binary.LittleEndian, &s); err != nil {
		return Info{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if err := s.check(); err != nil {
		return Info{}, err
	}
	list, err := readIDs(r, &s)
	return Info{
		BytesUsed: int64(s.BytesUsed), ModTime: time.Unix(int64(s.ModTime), 0).UTC(), BlockSize: int(s.BlockSize),
		Inodes: int(s.Inodes), Compression: compressions[s.Compression], IDs: list,
	}, err
}

const (
	minBlockSize = 4 << 10
	maxBlockSize = 1 << 20
	maxBytesUsed = 1 << 62
)

func (s *superblock) check() error {
	switch {
	case s.Magic != magic:
		return fmt.Errorf("%w: it does not begin as one", ErrFormat)
	case s.Major != 4 || s.Minor != 0:
		return fmt.Errorf("%w: version %d.%d, not 4.0", ErrFormat, s.Major, s.Minor)
	case s.BlockSize < minBlockSize || s.BlockSize > maxBlockSize || s.BlockLog > 20 || s.BlockSize != 1<<s.BlockLog:
		return fmt.Errorf("%w: blocks of %d bytes", ErrFormat, s.BlockSize)
	case s.Compression == 0 || int(s.Compression) >= len(compressions):
		return fmt.Errorf("%w: compression %d", ErrFormat, s.Compression)
	case s.IDs == 0 || s.Inodes == 0:
		return fmt.Errorf("%w: it has no owner or no inode", ErrFormat)
	case s.BytesUsed > maxBytesUsed || s.IDTable < superblockSize || s.IDTable >= s.BytesUsed:
		return fmt.Errorf("%w: its id table lies outside", ErrFormat)
	}
	return nil
}

// readIDs reads the id table: numbers in metadata blocks, whose places are
// listed at IDTable.
func readIDs(r io.ReaderAt, s *superblock) ([]uint32, error) {
	blocks := (4*int(s.IDs) + metadataSize - 1) / metadataSize
	places := make([]byte, 8*blocks)
	if _, err := r.ReadAt(places, int64(s.IDTable)); err != nil {
		return nil, fmt.Errorf("%w: read id table: %w", ErrFormat, err)
	}
	var all []byte
	for ; len(places) > 0; places = places[8:] {
		block, err := readMetadata(r, s, le.Uint64(places))
		if err != nil {
			return nil, err
		}
		if len(places) > 8 && len(block) != metadataSize {
			return nil, fmt.Errorf("%w: its id table has a hole", ErrFormat)
		}
		all = append(all, block...)
	}
	if len(all) != 4*int(s.IDs) {
		return nil, fmt.Errorf("%w: its id table has %d bytes, not %d", ErrFormat, len(all), 4*int(s.IDs))
	}
	list := make([]uint32, s.IDs)
	for i := range list {
		list[i] = le.Uint32(all[4*i:])
	}
	return list, nil
}

// readMetadata reads the metadata block at a place.
func readMetadata(r io.ReaderAt, s *superblock, place uint64) ([]byte, error) {
	if place < superblockSize || place >= s.BytesUsed {
		return nil, fmt.Errorf("%w: a block lies outside", ErrFormat)
	}
	header := make([]byte, 2)
	if _, err := r.ReadAt(header, int64(place)); err != nil {
		return nil, fmt.Errorf("%w: read block: %w", ErrFormat, err)
	}
	word := le.Uint16(header)
	size := int(word &^ metadataRaw)
	if size == 0 || size > metadataSize {
		return nil, fmt.Errorf("%w: a block has %d bytes", ErrFormat, size)
	}
	data := make([]byte, size)
	if _, err := r.ReadAt(data, int64(place)+2); err != nil {
		return nil, fmt.Errorf("%w: read block: %w", ErrFormat, err)
	}
	if word&metadataRaw != 0 {
		return data, nil
	}
	out, err := expand(data, s.Compression)
	if err == nil && len(out) > metadataSize {
		return nil, fmt.Errorf("%w: a block has more than %d bytes", ErrFormat, metadataSize)
	}
	return out, err
}

func expand(data []byte, compression uint16) ([]byte, error) {
	var out []byte
	var err error
	switch compression {
	case compressionZstd:
		d := NewDecoder()
		defer d.zstd.Close()
		out, err = d.Block(data, uint32(len(data)), nil)
	case compressionGzip:
		var z io.ReadCloser
		if z, err = zlib.NewReader(bytes.NewReader(data)); err == nil {
			out, err = io.ReadAll(io.LimitReader(z, metadataSize+1))
		}
	default:
		return nil, fmt.Errorf("%w: %s", ErrCompression, compressions[compression])
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return out, nil
}
