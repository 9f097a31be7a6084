package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

const (
	// redraw is how often the line on a terminal changes, retell how often a
	// line is written elsewhere.
	redraw = 200 * time.Millisecond
	retell = 5 * time.Second
)

// watchImport shows how far an import or the like is, until stop is called.
func (a *app) watchImport(p interface{ Look() image.Step }) (stop func()) {
	if a.quiet {
		return func() {}
	}
	terminal := a.redraws()
	every := retell
	if terminal {
		every = redraw
	}
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		var rate importRate
		for {
			select {
			case <-done:
				a.tellImport(p.Look(), terminal, "")
				return
			case now := <-tick.C:
				step := p.Look()
				a.tellImport(step, terminal, rate.line(step, now))
			}
		}
	})
	return func() { close(done); group.Wait() }
}

// tellImport writes notices and, if there is one, the line on how far it is.
func (a *app) tellImport(step image.Step, terminal bool, line string) {
	var b strings.Builder
	if terminal {
		b.WriteString("\r\033[K")
	}
	for _, n := range step.Notices {
		b.WriteString("muster: " + page.Printable(n) + "\n")
	}
	if line != "" {
		b.WriteString("  " + line)
		if !terminal {
			b.WriteString("\n")
		}
	}
	fmt.Fprint(a.err, b.String())
}

// importRate knows how fast a phase has been of late.
type importRate struct {
	phase image.Phase
	began time.Time
	bytes int64
	pace  pace
}

// line is how far a phase is, how fast, and how long it takes still.
func (r *importRate) line(s image.Step, now time.Time) string {
	if s.Phase != r.phase || s.Bytes < r.bytes {
		*r = importRate{phase: s.Phase, began: now}
	}
	r.bytes = s.Bytes
	perSecond := r.pace.seen(s.Bytes, now)
	if s.Total == 0 {
		return fmt.Sprintf("%s, %s", s.Phase, count.Span(now.Sub(r.began)))
	}
	text := fmt.Sprintf("%s: %s of %s", s.Phase, count.Bytes(s.Bytes), count.Bytes(s.Total))
	if perSecond < 1 {
		return text
	}
	left := time.Duration(float64(s.Total-s.Bytes) / perSecond * float64(time.Second))
	return fmt.Sprintf("%s, %s/s, %s left", text, count.Bytes(int64(perSecond)), count.Span(left))
}
