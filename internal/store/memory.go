package store

import (
	"context"
	"fmt"
	"math/bits"
	"sync"
	"syscall"

	"golang.org/x/sync/semaphore"
)

const (
	smallBytes = 256 << 10 // what is no longer is taken from Go's memory, and does not count
	leastBytes = 2 * smallBytes
)

// memory is what all uploads of a bucket hold of contents: never more than its room, so that who needs more waits. It
// lies outside of Go's heap, whose collector would let as much garbage again gather beside it.
type memory struct {
	most int64
	room *semaphore.Weighted

	mu     sync.Mutex         // guards what follows
	free   map[int64][][]byte // by size
	mapped int64
	used   int64
}

func newMemory(most int64) *memory {
	return &memory{most: most, room: semaphore.NewWeighted(most), free: map[int64][][]byte{}}
}

// take waits until there is room for n bytes. They have to be given back.
func (m *memory) take(ctx context.Context, n int64) ([]byte, error) {
	if n <= smallBytes {
		return make([]byte, n), nil
	}
	size := sizeOf(n)
	if m.room.Acquire(ctx, size) != nil {
		return nil, context.Cause(ctx)
	}
	b, err := m.get(size)
	if err != nil {
		m.room.Release(size)
		return nil, fmt.Errorf("take %d bytes of memory: %w", size, err)
	}
	return b[:n], nil
}

// give gives back what was taken. When nothing is taken any more, the system has all of it again.
func (m *memory) give(b []byte) {
	if cap(b) <= smallBytes {
		return
	}
	size := int64(cap(b))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free[size] = append(m.free[size], b[:size])
	if m.used -= size; m.used == 0 {
		m.shrink(0)
	}
	m.room.Release(size)
}

// sizeOf is the next power of two: so few sizes are easily used again.
func sizeOf(n int64) int64 {
	return max(leastBytes, int64(1)<<bits.Len64(uint64(n-1)))
}

func (m *memory) get(size int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if all := m.free[size]; len(all) > 0 {
		m.free[size] = all[:len(all)-1]
		m.used += size
		return all[len(all)-1], nil
	}
	m.shrink(m.most - size)
	b, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	m.mapped += size
	m.used += size
	return b, nil
}

// shrink gives free memory of any size back to the system, until no more than so many bytes are left.
func (m *memory) shrink(to int64) {
	for size, all := range m.free {
		for m.mapped > to && len(all) > 0 {
			if err := syscall.Munmap(all[len(all)-1]); err != nil {
				panic(fmt.Sprintf("give back memory: %v", err))
			}
			all = all[:len(all)-1]
			m.mapped -= size
		}
		m.free[size] = all
	}
}
