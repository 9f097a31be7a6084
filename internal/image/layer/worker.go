package layer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"sync"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// workers compress the blocks of all layers. What is in flight is bounded by
// the number of blocks there are, and CPUs are shared by the number of
// encoders.
type workers struct {
	blocks   chan *block
	encoders chan *squashfs.Encoder
}

// block is a data or fragment block on its way to a file.
type block struct {
	data []byte // what it holds, of at most squashfs.BlockSize bytes
	buf  []byte // of the encoder
	// What encode finds: the bytes to store, their size word, their hash.
	stored []byte
	word   uint32
	sum    [sha256.Size]byte
}

// blocksEach is how many blocks wait for each encoder, so that neither
// encoders nor readers are ever idle for long.
const blocksEach = 8

// maxBlocks keeps blocks and encoders below 100 MiB on any machine. So many
// encoders keep up with as many layers as are read at once.
const maxBlocks = 256

// newWorkers makes encoders and blocks for that many layers at once. Each
// layer fills at most two blocks, so there are more than that: one in flight
// is always on its way to be free.
func newWorkers(encoders, layers int) *workers {
	encoders = min(encoders, maxBlocks/blocksEach)
	blocks := encoders*blocksEach + 2*layers
	w := &workers{blocks: make(chan *block, blocks), encoders: make(chan *squashfs.Encoder, encoders)}
	for range blocks {
		w.blocks <- &block{}
	}
	for range encoders {
		w.encoders <- squashfs.NewEncoder()
	}
	return w
}

// block waits for a free block.
func (w *workers) block(ctx context.Context) (*block, error) {
	select {
	case b := <-w.blocks:
		if b.data == nil {
			b.data, b.buf = make([]byte, 0, squashfs.BlockSize), make([]byte, 0, squashfs.BlockSize+1<<10)
		}
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// free gives a block back.
func (w *workers) free(b *block) {
	b.data, b.stored = b.data[:0], nil
	w.blocks <- b
}

var zeros [squashfs.BlockSize]byte

// encode compresses a block. One of zeros becomes a hole, of which nothing is
// stored, where holes are allowed.
func (w *workers) encode(b *block, holes bool) {
	b.stored, b.word = nil, 0
	if holes && b.data[0] == 0 && bytes.Equal(b.data, zeros[:len(b.data)]) {
		return
	}
	e := <-w.encoders
	b.stored, b.word = e.Block(b.data, b.buf)
	w.encoders <- e
	if holes {
		b.sum = sha256.Sum256(b.stored)
	}
}

// queue encodes blocks in parallel and hands them, and what is put between
// them, to one goroutine in the order in which they came.
type queue struct {
	workers *workers
	steps   chan step
	encodes sync.WaitGroup
	writer  sync.WaitGroup
	failed  chan struct{} // closed when a step has failed
	err     error         // of the first step that failed; guarded by failed
}

// step is something to do once ready is closed.
type step struct {
	ready <-chan struct{}
	block *block // nil: none
	do    func() error
}

func (w *workers) queue() *queue {
	q := &queue{workers: w, steps: make(chan step, 256), failed: make(chan struct{})}
	q.writer.Go(q.run)
	return q
}

func (q *queue) run() {
	for s := range q.steps {
		if s.ready != nil {
			<-s.ready
		}
		if q.err == nil {
			if q.err = s.do(); q.err != nil {
				close(q.failed)
			}
		}
		if s.block != nil {
			q.workers.free(s.block)
		}
	}
}

// put encodes a block, which then belongs to the queue; do sees it encoded.
func (q *queue) put(b *block, holes bool, do func() error) error {
	ready := make(chan struct{})
	q.encodes.Go(func() {
		defer close(ready)
		q.workers.encode(b, holes)
	})
	q.steps <- step{ready, b, do}
	return q.failure()
}

// then does something after what was put before.
func (q *queue) then(do func() error) error {
	q.steps <- step{do: do}
	return q.failure()
}

func (q *queue) failure() error {
	select {
	case <-q.failed:
		return q.err
	default:
		return nil
	}
}

// close waits until all is done.
func (q *queue) close() error {
	q.encodes.Wait()
	close(q.steps)
	q.writer.Wait()
	return q.err
}
