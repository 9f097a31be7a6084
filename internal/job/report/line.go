package report

import "time"

// line is the time of a run, classified from its start on. What was given out is never given out again, so that there
// are no gaps and no overlaps.
type line struct {
	at, end time.Time
	spans   []Span
}

// until gives the time up to t to a class; less of it where the run ends before, none where t has passed.
func (l *line) until(t time.Time, c Class) {
	t = t.Truncate(time.Millisecond)
	if t.After(l.end) {
		t = l.end
	}
	if !t.After(l.at) {
		return
	}
	if n := len(l.spans); n > 0 && l.spans[n-1].Class == c {
		l.spans[n-1].To = t
	} else {
		l.spans = append(l.spans, Span{From: l.at, To: t, Class: c})
	}
	l.at = t
}

// rest gives all that is left to a class.
func (l *line) rest(c Class) { l.until(l.end, c) }

// recast gives what one class has after a time, and before another, to a second one.
func recast(spans []Span, from, to time.Time, old, now Class) []Span {
	l := line{}
	if len(spans) > 0 {
		l.at, l.end = spans[0].From, spans[len(spans)-1].To
	}
	for _, s := range spans {
		if s.Class != old {
			l.until(s.To, s.Class)
			continue
		}
		if from.Before(s.To) {
			l.until(earlier(from, s.To), old)
			l.until(earlier(to, s.To), now)
		}
		l.until(s.To, old)
	}
	return l.spans
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
