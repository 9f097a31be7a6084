package checkpoint

import (
	"bytes"
	"encoding/binary"
)

// lengths are the files that a .metadata of torch.distributed.checkpoint names, with the bytes that each has at least: it
// says of each tensor in which file it is, at which offset and how long
// (https://github.com/pytorch/pytorch/blob/main/torch/distributed/checkpoint/filesystem.py, _StorageInfo). A .metadata of
// which only the beginning is known, or with what is not understood, says less.
func lengths(metadata []byte) map[string]int64 {
	ends := map[string]int64{}
	p := pickle{rest: metadata, kept: map[uint32]string{}}
	var name, key string
	var offset int64
	for p.next() {
		switch {
		case p.isText && key == "relative_path":
			name, key = p.text, ""
		case p.isText:
			key = p.text
		case key == "offset":
			offset, key = p.number, ""
		case key == "length":
			if end := offset + p.number; name != "" && offset >= 0 && p.number >= 0 && end > ends[name] {
				ends[name] = end
			}
			name, key = "", ""
		default:
			key = ""
		}
	}
	return ends
}

// cutPickle reports whether a pickle of protocol 2 or later has no end: PROTO begins it, and STOP ends it.
func cutPickle(b []byte) bool { return len(b) > 0 && b[0] == 0x80 && b[len(b)-1] != '.' }

// pickle goes through the texts and whole numbers of one, in their order. It does not run it: a pickle is a program. It
// ends at what it does not know; see pickletools of Python.
type pickle struct {
	rest []byte
	kept map[uint32]string // the texts that it has for later

	text   string
	number int64
	isText bool
	fresh  bool // the text is what the instruction before made
}

// next goes to the next text or number.
func (p *pickle) next() bool {
	for len(p.rest) > 0 {
		op := p.rest[0]
		p.rest = p.rest[1:]
		switch value, known := p.step(op); {
		case !known:
			return false
		case value:
			return true
		}
	}
	return false
}

// step takes an instruction, and says whether it gave a value, and whether it is known.
func (p *pickle) step(op byte) (value, known bool) {
	switch op {
	case 0x8c: // SHORT_BINUNICODE
		return p.says(1)
	case 'X': // BINUNICODE
		return p.says(4)
	case 0x8d: // BINUNICODE8
		return p.says(8)
	case 'K', 'M', 'J', 0x8a: // BININT1, BININT2, BININT, LONG1
		ok := p.whole(op)
		p.isText, p.fresh = false, false
		return ok, ok
	case 0x94: // MEMOIZE
		return false, p.keep(uint32(len(p.kept)))
	case 'q': // BINPUT
		at, ok := p.take(1)
		return false, ok && p.keep(at)
	case 'r': // LONG_BINPUT
		at, ok := p.take(4)
		return false, ok && p.keep(at)
	case 'h': // BINGET
		return p.again(1)
	case 'j': // LONG_BINGET
		return p.again(4)
	}
	p.fresh = false
	return false, p.skip(op)
}

// says takes a text, before which its length stands in so many bytes.
func (p *pickle) says(digits uint64) (value, known bool) {
	text, ok := p.sized(digits)
	p.text, p.isText, p.fresh = string(text), true, true
	return ok, ok
}

// again takes what was kept.
func (p *pickle) again(digits uint64) (value, known bool) {
	at, ok := p.take(digits)
	p.text, p.fresh = p.kept[at], false
	p.isText = p.text != ""
	return p.isText, ok
}

// keep keeps what is on top: a text, or what is none and of no interest.
func (p *pickle) keep(at uint32) bool {
	if p.kept[at] = ""; p.fresh {
		p.kept[at] = p.text
	}
	return true
}

// skip passes over what belongs to another instruction.
func (p *pickle) skip(op byte) bool {
	switch op {
	case 'c': // GLOBAL: two lines
		for range 2 {
			end := bytes.IndexByte(p.rest, '\n')
			if end < 0 {
				return false
			}
			p.rest = p.rest[end+1:]
		}
		return true
	case 0x80: // PROTO
		_, ok := p.cut(1)
		return ok
	case 'G', 0x95: // BINFLOAT, FRAME
		_, ok := p.cut(8)
		return ok
	case 'C', 'U': // SHORT_BINBYTES, SHORT_BINSTRING
		_, ok := p.sized(1)
		return ok
	case 'B', 'T': // BINBYTES, BINSTRING
		_, ok := p.sized(4)
		return ok
	case 0x8e, 0x96: // BINBYTES8, BYTEARRAY8
		_, ok := p.sized(8)
		return ok
	}
	return bytes.IndexByte([]byte("(.012NR]abdelostu})\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93"), op) >= 0 // they stand alone
}

// cut takes so many bytes off.
func (p *pickle) cut(n uint64) ([]byte, bool) {
	if n > uint64(len(p.rest)) {
		return nil, false
	}
	text := p.rest[:n]
	p.rest = p.rest[n:]
	return text, true
}

// sized takes off what its length stands before, in so many bytes.
func (p *pickle) sized(digits uint64) ([]byte, bool) {
	head, ok := p.cut(digits)
	if !ok {
		return nil, false
	}
	return p.cut(binary.LittleEndian.Uint64(append(bytes.Clone(head), make([]byte, 8-digits)...)))
}

func (p *pickle) take(digits uint64) (uint32, bool) {
	b, ok := p.cut(digits)
	if !ok {
		return 0, false
	}
	return binary.LittleEndian.Uint32(append(bytes.Clone(b), make([]byte, 4-digits)...)), true
}

// whole reads a whole number. One of more than eight bytes is none of a file.
func (p *pickle) whole(op byte) bool {
	var b []byte
	var ok bool
	switch op {
	case 'K':
		b, ok = p.cut(1)
	case 'M':
		b, ok = p.cut(2)
	case 'J':
		b, ok = p.cut(4)
	default:
		b, ok = p.sized(1)
	}
	if p.number = -1; !ok || len(b) > 8 {
		return ok
	}
	signed := len(b) > 0 && b[len(b)-1] >= 0x80 && (op == 'J' || op == 0x8a)
	p.number = 0
	if signed {
		p.number = -1
	}
	for i := len(b) - 1; i >= 0; i-- {
		p.number = p.number<<8 | int64(b[i])
	}
	return true
}
