package train_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
)

// watched collects output and lets a test wait for a text in it.
type watched struct {
	mu      sync.Mutex // guards the fields below
	data    bytes.Buffer
	changed chan struct{} // closed and replaced by every write
}

func newWatched() *watched {
	return &watched{changed: make(chan struct{})}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
	return w.data.Write(p)
}

// String returns the output so far.
func (w *watched) String() string {
	text, _ := w.look()
	return text
}

// await reports whether text appeared before ctx ended.
func (w *watched) await(ctx context.Context, text string) bool {
	for {
		have, changed := w.look()
		if strings.Contains(have, text) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (w *watched) look() (string, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.data.String(), w.changed
}
