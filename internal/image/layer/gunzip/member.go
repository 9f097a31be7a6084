package gunzip

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

// Flags of a member's header.
const (
	headerCRC     = 1 << 1
	headerExtra   = 1 << 2
	headerName    = 1 << 3
	headerComment = 1 << 4
)

// member reads the header of a member, or finds the end.
func (r *Reader) member() error {
	r.align()
	if err := r.more(1); err != nil {
		return err
	}
	if r.at == r.end {
		if r.first {
			return io.ErrUnexpectedEOF
		}
		return io.EOF
	}
	b, err := r.bytes(10)
	if err != nil {
		return err
	}
	if b[0] != 0x1f || b[1] != 0x8b || b[2] != 8 {
		return damaged("no member where one should begin")
	}
	flags, sum := b[3], crc32.ChecksumIEEE(b)
	if err := r.headerFields(flags, &sum); err != nil {
		return err
	}
	if flags&headerCRC != 0 {
		if b, err = r.bytes(2); err != nil {
			return err
		}
		if binary.LittleEndian.Uint16(b) != uint16(sum) {
			return damaged("wrong checksum of a header")
		}
	}
	r.first, r.final, r.state = false, false, atBlock
	r.sum, r.size, r.oldest = 0, 0, r.to
	return nil
}

// headerFields skips the fields that a header may have.
func (r *Reader) headerFields(flags byte, sum *uint32) error {
	if flags&headerExtra != 0 {
		b, err := r.bytes(2)
		if err != nil {
			return err
		}
		*sum = crc32.Update(*sum, crc32.IEEETable, b)
		for n := int(binary.LittleEndian.Uint16(b)); n > 0; n-- {
			if err := r.skip(sum, nil); err != nil {
				return err
			}
		}
	}
	for _, flag := range []byte{headerName, headerComment} {
		length := 0
		for last := byte(1); flags&flag != 0 && last != 0; length++ {
			if err := r.skip(sum, &last); err != nil {
				return err
			}
			if length >= maxText {
				return damaged("a header with a long text")
			}
		}
	}
	return nil
}

// maxText is the longest text in a header that compress/gzip takes.
const maxText = 512

// skip takes a byte into a header's checksum.
func (r *Reader) skip(sum *uint32, into *byte) error {
	b, err := r.bytes(1)
	if err != nil {
		return err
	}
	*sum = crc32.Update(*sum, crc32.IEEETable, b)
	if into != nil {
		*into = b[0]
	}
	return nil
}

// trailer ends a member.
func (r *Reader) trailer() error {
	r.checksum()
	b, err := r.bytes(8)
	if err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b) != r.sum || binary.LittleEndian.Uint32(b[4:]) != r.size {
		return damaged("wrong checksum")
	}
	r.state = atMember
	return nil
}
