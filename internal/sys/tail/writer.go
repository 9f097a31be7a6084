package tail

import (
	"slices"
	"strings"
	"sync"
)

// kept is how much of what was written a Writer has, in bytes.
const kept = 64 << 10

// Writer keeps the end of the text that is written to it, such as a program's errors. It
// can be used by many goroutines.
type Writer struct {
	mu  sync.Mutex // of end
	end []byte
}

func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = append(w.end, p...)
	if extra := len(w.end) - kept; extra > 0 {
		w.end = slices.Delete(w.end, 0, extra)
	}
	return len(p), nil
}

func (w *Writer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.end)
}

// Last is the last lines. Of a line that was written over, the newest is one.
func (w *Writer) Last(lines int) string {
	all := strings.FieldsFunc(w.String(), func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
