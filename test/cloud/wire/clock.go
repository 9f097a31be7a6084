package wire

import (
	"sync"
	"time"
)

// Clock is the double's time: as fast as it is told to, so that a file system that
// takes ten minutes to be made is there in a moment.
type Clock struct {
	mu    sync.Mutex // guards what follows
	base  time.Time  // the clock's time at since
	since time.Time
	speed float64
}

// NewClock returns a clock that shows the time of day and runs speed times as fast.
func NewClock(speed float64) *Clock {
	now := time.Now()
	return &Clock{base: now, since: now, speed: speed}
}

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time {
	return c.base.Add(time.Duration(float64(time.Since(c.since)) * c.speed))
}

// Advance sets the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base, c.since = c.now().Add(d), time.Now()
}
