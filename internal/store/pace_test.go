package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// paced reads at a pace.
type paced struct {
	ctx context.Context
	io.Reader
	pace pace
}

func (p paced) Read(b []byte) (int, error) { return p.pace.read(p.ctx, p.Reader, b) }

// TestPaceIsShared has two bodies read at once: together they are as fast as they may be.
func TestPaceIsShared(t *testing.T) {
	for _, perSecond := range []int64{1000, 1 << 20, 100 << 20} {
		synctest.Test(t, func(t *testing.T) {
			pace := newPace(perSecond)
			began := time.Now()
			var group sync.WaitGroup
			for range 2 {
				group.Go(func() {
					n, err := io.Copy(io.Discard, struct{ io.Reader }{paced{t.Context(), bytes.NewReader(make([]byte, 5*perSecond)), pace}})
					if n != 5*perSecond || err != nil {
						t.Errorf("read %d, %v", n, err)
					}
				})
			}
			group.Wait()
			if took := time.Since(began); took > 10*time.Second || took < 9*time.Second {
				t.Errorf("10 s of bytes took %s at %d bytes a second", took, perSecond)
			}
		})
	}
}

// TestTurns has uploads wait for others: when half of the time is over that all need, half of them have been sent. One that is longer than
// what may be under way goes alone, and who is told to end waits no longer.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond, uploads = 1 << 20, 2 * underWay
		pace := newPace(perSecond)
		began := time.Now()
		var group sync.WaitGroup
		var half, all atomic.Int32
		send := func(bytes int) {
			end, err := pace.turn(t.Context(), int64(bytes))
			if err != nil {
				t.Error(err)
				return
			}
			defer end()
			if _, err := io.Copy(io.Discard, struct{ io.Reader }{paced{t.Context(), strings.NewReader(strings.Repeat("x", bytes)), pace}}); err != nil {
				t.Error(err)
			}
			if all.Add(1); time.Since(began) <= underWay*time.Second {
				half.Add(1)
			}
		}
		for range uploads {
			group.Go(func() { send(perSecond) })
		}
		group.Wait()
		if half.Load() < uploads/2-1 || all.Load() != uploads {
			t.Errorf("%d of %d were sent in half of the time, %d in the end", half.Load(), uploads, all.Load())
		}
		send(3 * underWay * perSecond)
		end, err := pace.turn(t.Context(), 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		why := errors.New("told to end")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { stop(why) })
		if _, err := pace.turn(ctx, 1); !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
	})
}

func TestPaceCanBeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		pace := newPace(1)
		time.AfterFunc(time.Minute, cancel)
		var err error
		for read := 0; err == nil && read < 100; read++ {
			_, err = pace.read(ctx, bytes.NewReader(make([]byte, 10)), make([]byte, 10))
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestWaits are doubled, up to a limit, and differ.
func TestWaits(t *testing.T) {
	p := newPatience(Config{Patience: time.Hour}, nil)
	seen := map[time.Duration]bool{}
	for failures := 1; failures < 100; failures++ {
		want := min(firstWait<<min(failures-1, 20), mostWait)
		wait := p.wait(failures)
		if wait < want/2 || wait > want {
			t.Errorf("%s after %d failures, want %s at the most", wait, failures, want)
		}
		seen[wait] = true
	}
	if len(seen) < 50 {
		t.Errorf("of 99 waits there are %d", len(seen))
	}
}
