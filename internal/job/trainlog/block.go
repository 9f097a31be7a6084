package trainlog

import (
	"bytes"
	"slices"
	"strings"
)

const (
	mostBlocks     = 64   // that are open at a time
	mostBlockLines = 4000 // of the log, of all ranks, until a block that has not ended is no longer waited for
)

// block is something of several lines that has begun and not ended: a traceback, or torchrun's table of failed workers.
// Lines of other ranks may stand between its own.
type block struct {
	table bool
	// ignored says that it is a traceback that Python shows and goes on.
	ignored bool
	origin  origin
	before  []byte // what stood before its first word, behind the origin's prefixes
	indent  int    // of that
	lines   int    // of the log since

	first Sign // a traceback's first line, for one that is cut off
	entry Sign // a table's
	begun bool // the entry
	root  bool // entries are the first failure
}

// blocks gives a line to the blocks that wait for it, and opens one that begins with it. It tells whether the line is code
// that a traceback shows, which says nothing itself.
func (r *Reader) blocks(u unit) (code bool) {
	ended := func(b *block) bool {
		b.lines++
		if b.lines > mostBlockLines {
			r.cutOff(b)
			return true
		}
		rest, indent, ok := b.member(u)
		switch {
		case !ok:
			return false
		case b.table:
			return r.tableLine(b, u, rest)
		}
		if spaces(rest) > indent && b.first.Name == "" {
			code = true
			return false
		}
		if b.ignored {
			_, _, code = exception(rest)
			return code
		}
		return r.tracebackLine(b, u, rest)
	}
	if len(r.state.blocks) > 0 {
		r.state.blocks = slices.DeleteFunc(r.state.blocks, func(b *block) bool { return ended(b) })
	}
	if u.about&(aboutTraceback|aboutTable) != 0 {
		r.open(u)
	}
	return code
}

// member is what a line of the same origin says to the block, and how far the block is indented in it.
func (b *block) member(u unit) (rest []byte, indent int, ok bool) {
	if u.origin.task != b.origin.task || u.origin.rank != b.origin.rank || u.origin.localRank != b.origin.localRank {
		return nil, 0, false
	}
	if rest, ok := bytes.CutPrefix(u.text, b.before); ok {
		return rest, 0, true
	}
	return u.text, b.indent, true
}

// open begins a block.
func (r *Reader) open(u unit) {
	for _, begin := range [...]struct {
		word  string
		table bool
	}{
		{"Traceback (most recent call last)", false}, // rich has it in a box, without a colon
		{"Exception ignored ", false},
		{"Error in atexit._run_exitfuncs", false},
		{"--- Logging error ---", false},
		{"ChildFailedError", true},
		{"Failures:", true},
		{"Root Cause (first observed failure):", true},
	} {
		at := bytes.Index(u.text, []byte(begin.word))
		if at < 0 {
			continue
		}
		if begin.table && r.state.table(u) {
			return
		}
		if len(r.state.blocks) == mostBlocks {
			r.state.blocks = slices.Delete(r.state.blocks, 0, 1)
		}
		b := &block{table: begin.table, origin: u.origin, indent: spaces(u.text), first: u.sign()}
		b.first.Kind, b.first.Text, b.first.Place, b.first.Time = Exception, clip(u.text), r.next, stamp(u.text)
		if !begin.table {
			b.before = slices.Clone(u.text[:min(at, mostText)])
			b.ignored = r.state.forget(b) || begin.word[0] != 'T'
		}
		b.root = strings.HasPrefix(begin.word, "Root")
		r.state.blocks = append(r.state.blocks, b)
		return
	}
	if _, name, ok := exception(u.text); ok && (name == "SyntaxError" || name == "IndentationError") {
		s := u.sign()
		s.Kind, s.Name = Exception, name
		r.sign(u, s)
	}
}

// forget drops a traceback of the same origin that another one broke off, and tells whether that is one that Python goes on after: its head
// stands in the line before.
func (s *state) forget(other *block) (ignored bool) {
	s.blocks = slices.DeleteFunc(s.blocks, func(b *block) bool {
		same := !b.table && b.origin == other.origin && bytes.Equal(b.before, other.before)
		ignored = ignored || same && b.ignored && b.first.Place.Line == other.first.Place.Line-1
		return same
	})
	return ignored
}

// table says whether one is open for this origin.
func (s *state) table(u unit) bool {
	return slices.ContainsFunc(s.blocks, func(b *block) bool {
		_, _, ok := b.member(u)
		return b.table && ok
	})
}

// tracebackLine reads a line below "Traceback" that is not indented, and tells whether it was the last: the first that looks
// like an exception, or the one behind it where its message begins with a new line.
func (r *Reader) tracebackLine(b *block, u unit, rest []byte) bool {
	if b.first.Name != "" {
		rest = bytes.TrimSpace(rest)
		if len(rest) > 1 && isLetter(rest[0]) && !isDigit(rest[1]) { // E0926 is a logger's
			b.first.Text = clip(append([]byte(b.first.Text+" "), rest...))
		}
		r.sign(u, b.first)
		return true
	}
	line, name, ok := exception(rest)
	if !ok {
		return false
	}
	s := u.sign()
	s.Kind, s.Name, s.Text = Exception, name, clip(line)
	if line[len(line)-1] == ':' && !strings.HasSuffix(name, "ChildFailedError") { // whose table follows
		b.first = s
		return false
	}
	r.sign(u, s)
	return true
}

// exception reads "torch.cuda.OutOfMemoryError: CUDA out of memory. ...", or a name alone. The name of Ray's
// "ray.exceptions.RayTaskError(ValueError): ..." is that of what the task raised.
func exception(line []byte) (trimmed []byte, name string, ok bool) {
	line = bytes.TrimSpace(line)
	end := 0
	for end < len(line) && (isLetter(line[end]) || isDigit(line[end]) || line[end] == '.') {
		end++
	}
	if end == 0 || end > 200 || !isLetter(line[0]) {
		return nil, "", false
	}
	name = string(line[:end])
	if inner, ok := bytes.CutPrefix(line, []byte("ray.exceptions.RayTaskError(")); ok {
		of, rest, _ := bytes.Cut(inner, []byte(")"))
		name, end = string(of), len(line)-len(rest)
	}
	if end < len(line) && line[end] != ':' {
		return nil, "", false
	}
	return line, name, isException(name)
}

// isException says whether a class may be called so: of Python's own and of libraries', few are in small letters. Between the
// lines of a traceback may be those of others, such as "srun: error: ..." and "WARNING: ...".
func isException(name string) bool {
	class := strings.TrimLeft(name[strings.LastIndexByte(name, '.')+1:], "_")
	switch class {
	case "error", "timeout", "gaierror", "herror":
		return class != name
	}
	return class != "" && 'A' <= class[0] && class[0] <= 'Z' && strings.ToUpper(class) != class
}

// close says what waited for lines that do not come: tracebacks that were cut off, and a sample.
func (r *Reader) close() {
	r.release()
	for _, b := range r.state.blocks {
		r.cutOff(b)
	}
	r.state.blocks = nil
}

// cutOff says that a traceback began of which the end is not known.
func (r *Reader) cutOff(b *block) {
	if !b.table && !b.ignored {
		r.found.Signs = append(r.found.Signs, b.first)
	}
}
