package container

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// program is a list of system calls for a remote, under construction in the
// memory that is shared with it.
type program struct {
	page *page
	what []string
	full bool
}

// program begins a new program. The one before must be done: they use the same
// memory.
func (r *remote) program() *program {
	r.page.used = 0
	return &program{page: r.page}
}

// call adds a call, which errors name by what.
func (p *program) call(what string, nr uintptr, args ...uintptr) ref {
	if len(p.what) >= maxCalls-1 {
		p.full = true
		return 0
	}
	c := &p.page.calls[len(p.what)]
	*c = call{nr: nr}
	copy(c.args[:], args)
	p.what = append(p.what, what)
	return refBase | uintptr(len(p.what)-1)
}

// ref is an argument of a call: the result of an earlier one, or a number.
type ref = uintptr

// at is the result that a reference stands for.
func at(results []result, f ref) result { return results[f&refMask] }

// allow marks a call as one that may fail, and returns it.
func (p *program) allow(f ref) ref {
	p.page.calls[f&refMask].mayFail = 1
	return f
}

// data puts bytes where the remote finds them and returns the place.
func (p *program) data(b []byte) uintptr {
	at := p.space(len(b))
	copy(at, b)
	return address(at)
}

// text is data for a string that ends with a zero byte.
func (p *program) text(s string) uintptr {
	at := p.space(len(s) + 1)
	copy(at, s)
	at[len(s)] = 0
	return address(at)
}

// texts is a list of strings as execve wants it.
func (p *program) texts(list []string) uintptr {
	places := make([]uintptr, len(list)+1)
	for i, s := range list {
		places[i] = p.text(s)
	}
	return p.data(unsafe.Slice((*byte)(unsafe.Pointer(&places[0])), len(places)*int(unsafe.Sizeof(places[0]))))
}

// align suits every type.
const align = 16

// space is room for n bytes, at a place that suits every type.
func (p *program) space(n int) []byte {
	from := (p.page.used + align - 1) &^ (align - 1)
	if from+n+1 > len(p.page.arena) {
		p.full = true
		return make([]byte, n+1)
	}
	p.page.used = from + n + 1
	return p.page.arena[from : from+n+1]
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }

//go:nosplit
func wordAt(h *header) uintptr { return uintptr(unsafe.Pointer(&h.word[0])) }

// minus is a negative argument.
func minus(n int) uintptr { return uintptr(n) }

var here = minus(unix.AT_FDCWD)
