package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

// tellData is how often a line is written where there is no terminal.
const tellData = 10 * time.Second

// watchData shows how far a command about data is, until stop is called.
func (a *app) watchData(p *data.Progress) (stop func()) {
	if a.quiet {
		return func() {}
	}
	every := tellData
	if a.redraws() {
		every = redraw
	}
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		line := dataLine{pace: pace{at: time.Now()}}
		for {
			select {
			case <-done:
				a.tellData(p.Look(), "")
				return
			case now := <-tick.C:
				step := p.Look()
				a.tellData(step, line.text(step, now))
			}
		}
	})
	return sync.OnceFunc(func() { close(done); group.Wait() })
}

// tellData writes notices and, if there is one, the line on how far it is.
func (a *app) tellData(s data.Step, line string) {
	var b strings.Builder
	terminal := a.redraws()
	if terminal {
		b.WriteString("\r\033[K")
	}
	for _, n := range s.Notices {
		b.WriteString("muster: " + page.Printable(n) + "\n")
	}
	switch {
	case line == "":
	case terminal:
		b.WriteString(page.Short(a.err, page.Printable("  "+line)))
	default:
		b.WriteString("  " + page.Printable(line) + "\n")
	}
	fmt.Fprint(a.err, b.String())
}

// dataLine is the line on how far a phase is.
type dataLine struct {
	phase string
	pace  pace
}

func (l *dataLine) text(s data.Step, now time.Time) string {
	if s.Phase != l.phase && l.phase != "" {
		l.pace = pace{}
	}
	l.phase = s.Phase
	perSecond := l.pace.seen(s.Bytes, now)
	parts := []string{ofTotal(s)}
	if perSecond >= 1 {
		parts = append(parts, count.Bytes(int64(perSecond))+"/s")
	}
	if left := s.OfBytes - s.Bytes; s.Counted && left > 0 && perSecond >= 1 {
		parts = append(parts, count.Span(time.Duration(float64(left)/perSecond*float64(time.Second)))+" left")
	}
	text := strings.Join(parts, ", ")
	if s.Phase == "" {
		return text
	}
	return s.Phase + ": " + text
}

// ofTotal says how many files and bytes are done, of how many where that is known.
func ofTotal(s data.Step) string {
	if s.OfFiles == 0 && s.OfBytes == 0 {
		return count.Of(s.Files, "file") + ", " + count.Bytes(s.Bytes)
	}
	soFar := ""
	if !s.Counted {
		soFar = " so far"
	}
	return fmt.Sprintf("%d of %s, %s of %s%s", s.Files, count.Of(s.OfFiles, "file"), count.Bytes(s.Bytes), count.Bytes(s.OfBytes), soFar)
}

// pace is how fast something has been of late: a mean that forgets.
type pace struct {
	at        time.Time
	bytes     int64
	perSecond float64
}

// seen is the bytes in a second after so many have been done.
func (p *pace) seen(bytes int64, now time.Time) float64 {
	if p.at.IsZero() {
		*p = pace{at: now, bytes: bytes}
	}
	if past := now.Sub(p.at).Seconds(); past > 0 {
		rate := float64(max(bytes-p.bytes, 0)) / past // less than before is what goes again
		if p.perSecond == 0 {
			p.perSecond = rate
		}
		p.perSecond += min(past/5, 1) * (rate - p.perSecond)
	}
	p.at, p.bytes = now, bytes
	return p.perSecond
}
