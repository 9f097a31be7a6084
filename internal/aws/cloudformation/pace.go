package cloudformation

import (
	"context"
	"time"

	"github.com/muster-hpc/muster/internal/sys/pause"
)

// pace is how long to wait before the next look: little at first, then longer, so
// that short operations are not waited for and long ones cost few calls.
type pace struct{ next time.Duration }

const (
	firstLook = 200 * time.Millisecond
	lastLook  = 8 * time.Second
)

func newPace() *pace { return &pace{next: firstLook} }

// wait waits for the next look. It fails when ctx ends.
func (p *pace) wait(ctx context.Context) error {
	next := p.next
	p.next = min(p.next*5/4, lastLook)
	return pause.For(ctx, next)
}
