package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestMemoryIsBounded has many take and give back memory of all sizes: no two have the same, and all together never have
// more than there is room for.
func TestMemoryIsBounded(t *testing.T) {
	const most = 8 << 20
	m := newMemory(most)
	var group sync.WaitGroup
	for who := range 16 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(5, uint64(who)))
			for range 100 {
				n := 1 + r.Int64N(4<<20)
				b, err := m.take(t.Context(), n)
				if err != nil || int64(len(b)) != n {
					t.Errorf("took %d of %d bytes, %v", len(b), n, err)
					return
				}
				b[0], b[n-1] = byte(who), byte(who)
				m.mu.Lock()
				if m.mapped > most || m.used > m.mapped {
					t.Errorf("%d bytes are used and %d held, of %d", m.used, m.mapped, most)
				}
				m.mu.Unlock()
				if b[0] != byte(who) || b[n-1] != byte(who) {
					t.Error("two have the same memory")
				}
				m.give(b)
			}
		})
	}
	group.Wait()
	if m.mapped != 0 || m.used != 0 {
		t.Errorf("in the end %d bytes are used and %d held", m.used, m.mapped)
	}
}

func TestMemoryIsWaitedFor(t *testing.T) {
	m := newMemory(1 << 20)
	all, err := m.take(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	small, err := m.take(t.Context(), smallBytes)
	if err != nil {
		t.Errorf("little memory got %v while there is no room", err)
	}
	m.give(small)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := m.take(ctx, smallBytes+1); !errors.Is(err, why) {
		t.Errorf("got %v, want what ended the wait", err)
	}
	m.give(all)
	if b, err := m.take(t.Context(), 1<<20); err != nil || len(b) != 1<<20 {
		t.Errorf("later there is none: %v", err)
	}
}
