package demo

import (
	"bytes"
	"strings"
	"sync"
)

// tail keeps the last lines that a program wrote.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// tailLimit is how much is kept, in bytes.
const tailLimit = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = bytes.Clone(t.text[max(0, len(t.text)-tailLimit):])
	return len(p), nil
}

// last is the last lines. A line that was written over is the newest of it.
func (t *tail) last(count int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.FieldsFunc(string(t.text), func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
