package layer

import (
	"io"
	"sync"
)

// ahead reads from another reader in a goroutine of its own, a few chunks
// ahead, so that the stages of a layer's stream run at the same time.
type ahead struct {
	full    chan chunk
	empty   chan []byte
	stop    chan struct{}
	reader  sync.WaitGroup
	current chunk
	left    []byte
}

type chunk struct {
	data []byte
	err  error // after data
}

const (
	chunkSize = 256 << 10
	chunks    = 3
)

func newAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan chunk, chunks), empty: make(chan []byte, chunks), stop: make(chan struct{})}
	for range chunks {
		a.empty <- nil
	}
	a.reader.Go(func() { a.run(r) })
	return a
}

func (a *ahead) run(r io.Reader) {
	defer close(a.full)
	for {
		var buf []byte
		select {
		case buf = <-a.empty:
		case <-a.stop:
			return
		}
		if buf == nil {
			buf = make([]byte, chunkSize)
		}
		n, err := fill(r, buf[:chunkSize])
		a.full <- chunk{buf[:n], err} // never waits: there are no more chunks than places
		if err != nil {
			return
		}
	}
}

// fill reads until buf is full or reading ends.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = r.Read(buf[n:])
		n += more
	}
	return n, err
}

// Read returns what was read ahead. After close it returns io.ErrClosedPipe.
func (a *ahead) Read(p []byte) (int, error) {
	for len(a.left) == 0 {
		if a.current.err != nil {
			return 0, a.current.err
		}
		if a.current.data != nil {
			a.empty <- a.current.data
		}
		next, ok := <-a.full
		if !ok {
			next = chunk{err: io.ErrClosedPipe}
		}
		a.current, a.left = next, next.data
	}
	n := copy(p, a.left)
	a.left = a.left[n:]
	return n, nil
}

// close ends reading ahead. It waits for a Read of the other reader.
func (a *ahead) close() {
	close(a.stop)
	a.reader.Wait()
}
