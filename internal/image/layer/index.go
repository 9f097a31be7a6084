package layer

import (
	"encoding/binary"
	"math"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// indexWriter encodes entries as they are complete.
type indexWriter struct {
	b       []byte
	lastDir string
	count   int64
	bytes   int64
}

func (w *indexWriter) add(e *entry) {
	b := append(w.b, byte(e.kind))
	if same := e.dir == w.lastDir && w.count > 0; same {
		b = append(b, 1)
	} else {
		b = appendString(append(b, 0), e.dir)
	}
	w.lastDir = e.dir
	w.count++
	b = appendString(b, e.base)
	if e.kind == kindWhiteout || e.kind == kindOpaque {
		w.b = b
		return
	}
	b = binary.AppendUvarint(b, uint64(e.mode))
	b = binary.AppendUvarint(b, uint64(e.uid))
	b = binary.AppendUvarint(b, uint64(e.gid))
	b = binary.AppendVarint(b, e.mtime)
	b = binary.AppendUvarint(b, uint64(len(e.xattrs)))
	for _, x := range e.xattrs {
		b = appendString(appendString(b, x.Name), x.Value)
	}
	switch e.kind {
	case kindSymlink, kindHardlink:
		b = appendString(b, e.link)
	case kindChar, kindBlock:
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.major)), uint64(e.minor))
	case kindFile:
		b = appendContent(b, &e.content)
		w.bytes += e.content.size
	}
	w.b = b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendContent(b []byte, c *content) []byte {
	b = binary.AppendUvarint(b, uint64(c.size))
	if c.size == 0 {
		return b
	}
	b = append(b, c.key...)
	if c.small() {
		return binary.AppendUvarint(binary.AppendUvarint(b, uint64(c.fragment)), uint64(c.offset))
	}
	b = binary.AppendUvarint(b, uint64(c.start))
	for _, word := range c.words {
		b = binary.AppendUvarint(b, uint64(word))
	}
	return b
}

// decoder reads an index. What it returns shares the index's memory.
type decoder struct {
	s       string
	at      int
	lastDir string
	bad     bool
	words   []uint32 // of the last content, used again
}

// next returns the entry at the decoder's place in e.
func (d *decoder) next(e *entry) {
	*e = entry{kind: kind(d.byte())}
	if d.byte() == 0 {
		d.lastDir = d.string()
	}
	e.dir, e.base = d.lastDir, d.string()
	if e.kind == kindWhiteout || e.kind == kindOpaque {
		return
	}
	e.mode = uint16(d.uvarint())
	e.uid, e.gid = uint32(d.uvarint()), uint32(d.uvarint())
	e.mtime = d.varint()
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		e.xattrs = append(e.xattrs, squashfs.Xattr{Name: d.string(), Value: d.string()})
	}
	switch e.kind {
	case kindSymlink, kindHardlink:
		e.link = d.string()
	case kindChar, kindBlock:
		e.major, e.minor = uint32(d.uvarint()), uint32(d.uvarint())
	case kindFile:
		d.content(&e.content)
	}
}

func (d *decoder) content(c *content) {
	*c = content{size: int64(d.uvarint())}
	if c.size == 0 {
		return
	}
	c.keyAt = uint32(d.at)
	c.key = d.take(keySize)
	if c.small() {
		c.fragment, c.offset = uint32(d.uvarint()), uint32(d.uvarint())
		return
	}
	c.start = int64(d.uvarint())
	d.words = d.words[:0]
	for range blockCount(c.size) {
		if d.bad {
			return
		}
		d.words = append(d.words, uint32(d.uvarint()))
	}
	c.words = d.words
}

func blockCount(size int64) int64 { return (size + squashfs.BlockSize - 1) / squashfs.BlockSize }

func (d *decoder) take(n int) string {
	if n < 0 || n > len(d.s)-d.at {
		d.bad = true
		n = 0
	}
	s := d.s[d.at : d.at+n]
	d.at += n
	return s
}

func (d *decoder) byte() byte {
	if s := d.take(1); s != "" {
		return s[0]
	}
	return 0
}

func (d *decoder) string() string { return d.take(int(min(d.uvarint(), math.MaxInt32))) }

func (d *decoder) uvarint() uint64 {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		b := d.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	d.bad = true
	return 0
}

func (d *decoder) varint() int64 {
	v := d.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}
