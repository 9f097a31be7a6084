package main

import "sync"

// turns does a deed to a path for many who want it at the same time: one is under way, and who comes meanwhile shares
// the next one. So each sees a deed that began after he asked.
type turns struct {
	deed func(path string) error
	mu   sync.Mutex       // guards last and each turn's begun
	last map[string]*turn // of each path that has one
}

// turn is one deed, under way or about to be.
type turn struct {
	begun bool
	done  chan struct{}
	err   error // once done is closed
}

// take returns when the deed was done to the path after this call.
func (t *turns) take(path string) error {
	mine, before, first := t.join(path)
	if !first {
		<-mine.done
		return mine.err
	}
	if before != nil {
		<-before.done
	}
	t.begin(mine)
	mine.err = t.deed(path)
	t.end(path, mine)
	return mine.err
}

// join finds the path's turn that has not begun. Where there is none it makes one, and who called is the first in it;
// he waits for the one before.
func (t *turns) join(path string) (mine, before *turn, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.last[path]
	if last != nil && !last.begun {
		return last, nil, false
	}
	mine = &turn{done: make(chan struct{})}
	t.last[path] = mine
	return mine, last, true
}

func (t *turns) begin(mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine.begun = true
}

func (t *turns) end(path string, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last[path] == mine {
		delete(t.last, path)
	}
	close(mine.done)
}
