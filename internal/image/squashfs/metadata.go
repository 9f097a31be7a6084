package squashfs

import (
	"encoding/binary"
	"io"
)

const (
	metadataSize = 8192
	metadataRaw  = 1 << 15
)

// ref is a place in a table of metadata blocks: where its block begins, from
// the table's start, and the place in the uncompressed block.
type ref struct {
	block  int64
	offset int
}

// packed is the form in which tables hold a ref: 48 bits and 16 bits.
func (r ref) packed() uint64 { return uint64(r.block)<<16 | uint64(r.offset) }

// metadata writes a table as compressed blocks of 8 KiB.
type metadata struct {
	out     io.Writer
	enc     *Encoder
	written int64 // bytes that went to out
	starts  []int64
	pending []byte
	buf     []byte
	err     error
}

// at is where the next byte goes.
func (m *metadata) at() ref { return ref{m.written, len(m.pending)} }

// write adds bytes. The first error stays, and flush returns it.
func (m *metadata) write(p []byte) {
	for len(p) > 0 {
		n := min(len(p), metadataSize-len(m.pending))
		m.pending = append(m.pending, p[:n]...)
		p = p[n:]
		if len(m.pending) == metadataSize {
			m.flush()
		}
	}
}

// flush ends the block that is being filled.
func (m *metadata) flush() error {
	if len(m.pending) == 0 || m.err != nil {
		m.pending = m.pending[:0]
		return m.err
	}
	m.starts = append(m.starts, m.written)
	out, word := m.enc.Block(m.pending, m.buf)
	header := uint16(StoredSize(word))
	if word&Raw != 0 {
		header |= metadataRaw
	} else {
		m.buf = out
	}
	if _, m.err = m.out.Write(binary.LittleEndian.AppendUint16(nil, header)); m.err == nil {
		_, m.err = m.out.Write(out)
	}
	m.written += 2 + int64(len(out))
	m.pending = m.pending[:0]
	return m.err
}
