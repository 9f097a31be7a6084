package layer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"unsafe"
)

// A segment's file is: stored blocks, in the order of the layer · index ·
// footer. The index has the entries in the order of the layer, then the
// fragment blocks, then the checksums of the stored blocks.

// footer ends a segment's file.
type footer struct {
	Index     int64 // where it begins
	Entries   int64 // bytes of the entries in it
	Count     int64 // entries
	Fragments int64
	Bytes     int64 // sizes of all files
	Size      int64 // of the layer as it came
	DiffID    [32]byte
	Sum       uint32 // of the index
	Version   uint32
	Magic     [8]byte
}

// version changes with the form of segments, and with the compressor, so that
// equal contents of two segments have equal blocks.
const version = 2

const footerSize = 6*8 + 32 + 2*4 + 8

var segmentMagic = [8]byte{'M', 'U', 'S', 'T', 'E', 'R', 'S', 'G'}

// errCorrupt says that a segment is not as it was written, or was written by
// another version. It is then built again.
var errCorrupt = errors.New("the segment is damaged or of another version")

// fragment is a stored fragment block.
type fragment struct {
	start int64
	word  uint32
	size  uint32 // uncompressed
}

const fragmentSize = 8 + 4 + 4

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// writeIndex ends a segment's file behind its blocks.
func writeIndex(l *layout, size int64, diffID []byte) error {
	foot := footer{
		Index: l.end, Entries: int64(len(l.index.b)), Count: l.index.count, Fragments: int64(len(l.fragments)), Bytes: l.index.bytes,
		Size: size, DiffID: [32]byte(diffID), Version: version, Magic: segmentMagic,
	}
	b := l.index.b
	for _, f := range l.fragments {
		b = binary.LittleEndian.AppendUint64(b, uint64(f.start))
		b = binary.LittleEndian.AppendUint32(b, f.word)
		b = binary.LittleEndian.AppendUint32(b, f.size)
	}
	for _, sum := range l.sums.list() {
		b = binary.LittleEndian.AppendUint32(b, sum)
	}
	foot.Sum = checksum(b)
	b, err := binary.Append(b, binary.LittleEndian, foot)
	if err != nil {
		return err
	}
	_, err = l.file.WriteAt(b, l.end)
	return err
}

// segment is a segment that is open for reading.
type segment struct {
	file      *os.File
	digest    string
	foot      footer
	entries   string // the index's entries; names and keys share its memory
	fragments []fragment
	sums      []uint32 // of the stored blocks
}

// openSegment reads a segment's index. The error wraps ErrMissing if there is
// no such segment, or a damaged one, which it then removes.
func (c *Cache) openSegment(digest string) (*segment, error) {
	path, ok := c.path(digest)
	if !ok {
		return nil, fmt.Errorf("%w: %.100q is no sha256 digest", ErrMissing, digest)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, err
	}
	s, err := readSegment(f, digest)
	if errors.Is(err, errCorrupt) {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrMissing, err), f.Close(), c.Remove(digest))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	touch(path)
	return s, nil
}

func readSegment(f *os.File, digest string) (*segment, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	foot, err := readFooter(f, info.Size())
	if err != nil {
		return nil, err
	}
	b := make([]byte, info.Size()-footerSize-foot.Index)
	if _, err := f.ReadAt(b, foot.Index); err != nil {
		return nil, err
	}
	if checksum(b) != foot.Sum {
		return nil, errCorrupt
	}
	s := &segment{file: f, digest: digest, foot: foot, entries: unsafe.String(unsafe.SliceData(b), foot.Entries)}
	b = b[foot.Entries:]
	for ; len(s.fragments) < int(foot.Fragments); b = b[fragmentSize:] {
		s.fragments = append(s.fragments, fragment{
			start: int64(binary.LittleEndian.Uint64(b)),
			word:  binary.LittleEndian.Uint32(b[8:]),
			size:  binary.LittleEndian.Uint32(b[12:]),
		})
	}
	for ; len(b) > 0; b = b[sumSize:] {
		s.sums = append(s.sums, binary.LittleEndian.Uint32(b))
	}
	return s, nil
}

func readFooter(f *os.File, size int64) (footer, error) {
	var foot footer
	if size < footerSize {
		return foot, errCorrupt
	}
	b := make([]byte, footerSize)
	if _, err := f.ReadAt(b, size-footerSize); err != nil {
		return foot, err
	}
	if err := binary.Read(bytes.NewReader(b), binary.LittleEndian, &foot); err != nil {
		return foot, err
	}
	index := size - footerSize - foot.Index
	switch {
	case foot.Magic != segmentMagic || foot.Version != version,
		foot.Count < 0 || foot.Count > foot.Entries || foot.Index < 0 || index < 0 || foot.Entries < 0 || foot.Entries > index,
		foot.Fragments < 0 || foot.Fragments > index/fragmentSize || foot.Entries+foot.Fragments*fragmentSize+sumCount(foot.Index)*sumSize != index:
		return foot, errCorrupt
	}
	return foot, nil
}
