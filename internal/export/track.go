package export

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Progress is how far a mirror is at a moment.
type Progress struct {
	Files   int       // files and objects that wait, those that cannot be exported among them
	Bytes   int64     // of these files, without what of them was sent already
	Sent    int64     // bytes that went out so far
	Blocked []Wait    // files that cannot be exported, and why
	Sending []Sending // what is being uploaded, the oldest first
	Success time.Time // when a round ended last in which the place was well
}

// Sending is an upload on its way.
type Sending struct {
	Path                 string
	SizeBytes, SentBytes int64
	Since                time.Time
}

// Track follows the rounds of a mirror, so that what is waiting is known at every moment, whatever a round is at. The
// zero value is ready; for use by many goroutines.
type Track struct {
	mu       sync.Mutex // guards what follows
	progress Progress
	sending  []*Sending
}

// Progress is how far the mirror is.
func (t *Track) Progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.progress
	p.Blocked = slices.Clone(p.Blocked)
	for _, s := range t.sending {
		p.Sending = append(p.Sending, *s)
		p.Bytes -= s.SentBytes
	}
	slices.SortFunc(p.Sending, func(a, b Sending) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Path, b.Path)) })
	return p
}

// take takes up a new plan.
func (t *Track) take(p Plan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Files, t.progress.Bytes, t.progress.Blocked = p.Pending(), 0, p.Blocked
	for _, s := range p.Puts {
		t.progress.Bytes += s.File.SizeBytes
	}
	for _, w := range slices.Concat(p.Waits, p.Blocked) {
		t.progress.Bytes += w.SizeBytes
	}
}

func (t *Track) begin(f File) *Sending {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &Sending{Path: f.Path, SizeBytes: f.SizeBytes, Since: time.Now()}
	t.sending = append(t.sending, s)
	return s
}

// sent moves an upload forth, or back if some of it is sent again.
func (t *Track) sent(s *Sending, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.SentBytes += bytes
	t.progress.Sent += max(bytes, 0)
}

func (t *Track) end(s *Sending, done bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sending = slices.DeleteFunc(t.sending, func(other *Sending) bool { return other == s })
	if done {
		t.progress.Files--
		t.progress.Bytes -= s.SizeBytes
	}
}

// gone counts an object that was deleted.
func (t *Track) gone() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Files--
}

func (t *Track) block(all []Wait) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Blocked = slices.Clone(all)
}

func (t *Track) succeeded(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Success = at
}
