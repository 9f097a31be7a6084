package trainlog

import "bytes"

// mostLine is how much of a line is read, or of the part of a line that ends with a carriage return; in bytes.
const mostLine = 64 << 10

// Reader reads a log that comes in pieces, of any size and cut anywhere. The zero value reads from the beginning. It is
// for one goroutine at a time.
type Reader struct {
	// Pattern, if there is one, says which lines are progress in place of the known formats.
	Pattern *Pattern
	// From is where the first piece begins, for a reader that goes on where another one was: that one's Next. The
	// zero value is the beginning.
	From Place
	// Knows is what that one knew of earlier lines: its Memory.
	Knows *Memory
	// Beside reads the other stream of the same job, if it has two files: Hugging Face's Trainer writes its lines to one and
	// the bar that says their step to the other. Both readers are used by one goroutine.
	Beside *Reader

	begun bool
	next  Place  // where held begins
	end   int64  // where the next piece begins
	held  []byte // the beginning of a line of which more has to come
	state state
	found Found

	cleaned []byte // a buffer
	fields  fields // another one
}

// state is what lines before say of those that follow.
type state struct {
	blocks []*block
	bars   bars
	floods floods
	// general is of lines that no format describes.
	general general
}

// Feed reads the next piece, and returns what there is in the lines that end in it.
func (r *Reader) Feed(piece []byte) Found {
	r.begin()
	for len(piece) > 0 {
		n := bytes.IndexByte(piece, '\n')
		line := piece
		if n >= 0 {
			line = piece[:n+1]
		}
		r.line(line)
		piece = piece[len(line):]
	}
	return r.take()
}

// End reads what stands behind the last end of a line, and says what waited for lines that do not come any more.
func (r *Reader) End() Found {
	r.begin()
	if len(r.held) > 0 {
		r.unit(r.held)
		r.held = r.held[:0]
	}
	r.close()
	r.next.Offset = r.end
	return r.take()
}

// Next is where a reader may go on that was not fed anything yet: the beginning of the line that has not ended.
func (r *Reader) Next() Place {
	r.begin()
	return r.next
}

func (r *Reader) begin() {
	if !r.begun {
		r.begun = true
		r.next = r.From
		r.next.Line = max(r.next.Line, 1)
		r.end = r.next.Offset
		r.recall(r.Knows)
	}
}

func (r *Reader) take() Found {
	found := r.found
	r.found = Found{}
	return found
}

// line reads a piece without an end of line but its last byte. Its parts end with a carriage return each.
func (r *Reader) line(piece []byte) {
	for len(piece) > 0 {
		n := bytes.IndexByte(piece, '\r')
		if n < 0 {
			n = len(piece) - 1
			if piece[n] != '\n' {
				r.hold(piece)
				return
			}
		}
		r.part(piece[:n])
		r.end += int64(n + 1)
		r.next.Offset = r.end
		if piece[n] == '\n' {
			r.next.Line++
		}
		piece = piece[n+1:]
	}
}

// hold keeps the beginning of a line.
func (r *Reader) hold(piece []byte) {
	r.end += int64(len(piece))
	r.held = append(r.held, piece[:min(len(piece), mostLine-len(r.held))]...)
}

// part reads the rest of a line, or all of it.
func (r *Reader) part(rest []byte) {
	if len(r.held) == 0 {
		r.unit(rest[:min(len(rest), mostLine)])
		return
	}
	r.held = append(r.held, rest[:min(len(rest), mostLine-len(r.held))]...)
	r.unit(r.held)
	r.held = r.held[:0]
}
