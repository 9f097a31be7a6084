package export

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/store"
)

// Progress is how far a mirror is at a moment.
type Progress struct {
	Unknown  bool      // the last look failed, or there was none: more may wait
	Files    int       // files and objects that wait, those that cannot be exported among them
	Bytes    int64     // of these files, without what of them was sent already
	Sent     int64     // bytes that went out so far
	Exported int       // files that were put so far
	Moved    int64     // grows whenever anything moves: bytes read or sent, objects looked at
	Waiting  []Wait    // the first of the files that will be exported
	Blocked  []Wait    // files that cannot be exported, by path
	Sending  []Sending // what is being uploaded, the oldest first
	Success  time.Time // when a round ended last in which the place was well
	Since    time.Time // when the oldest of the files changed that could be sent and are not; zero if there is none
}

// namedAtMost is how many of the files that wait are named.
const namedAtMost = 10

// Sending is an upload on its way.
type Sending struct {
	Path                 string
	SizeBytes, SentBytes int64
	Since                time.Time
}

// Track follows the rounds of a mirror, so that what is waiting is known at every moment, also during a round. The
// zero value is ready; for use by many goroutines.
type Track struct {
	mu       sync.Mutex // guards what follows
	progress Progress
	seen     bool // by the last look, both sides
	sending  []*Sending
	tree     Tree            // that the plan was made of
	plan     Plan            // of this round, or the last one
	done     map[string]bool // keys of the plan's puts
	plans    int             // that were taken up
	began    time.Time       // when the first of them was
	unseen   []Wait          // files that came or changed since the plan was made
}

// Progress is how far the mirror is.
func (t *Track) Progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.progress
	p.Unknown = !t.seen
	p.Blocked = slices.Clone(p.Blocked)
	slices.SortStableFunc(p.Blocked, func(a, b Wait) int { return cmp.Compare(a.Path, b.Path) }) // they were tried at once
	for _, s := range t.sending {
		p.Sending = append(p.Sending, *s)
		p.Bytes -= s.SentBytes
	}
	slices.SortStableFunc(p.Sending, func(a, b Sending) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Path, b.Path)) })
	planned := t.planned()
	for _, w := range t.unseen {
		size, ok := planned[w.Path]
		if p.Bytes += w.SizeBytes - size; !ok {
			p.Files++
		}
	}
	p.Bytes = max(p.Bytes, 0) // of a file that became shorter more may be sent than it has
	p.Waiting = t.first()
	p.Since = t.since()
	return p
}

// since is when the oldest of the files changed that are to be sent: what waited before there was an export, waits since
// there is one. A log that grows is never done, and does not count.
func (t *Track) since() time.Time {
	var oldest time.Time
	for _, s := range t.plan.Puts {
		if t.done[s.Key] || s.Again || grows(s.File) {
			continue
		}
		at := s.File.Change.time()
		if at.Before(t.began) {
			at = t.began
		}
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}

// planned are the sizes of those files of the plan that still wait, if anything was seen since that may be among them.
func (t *Track) planned() map[string]int64 {
	if len(t.unseen) == 0 {
		return nil
	}
	all := map[string]int64{}
	for _, s := range t.plan.Puts {
		if !t.done[s.Key] {
			all[s.File.Path] = s.File.SizeBytes
		}
	}
	for _, w := range slices.Concat(t.plan.Waits, t.progress.Blocked) {
		all[w.Path] = w.SizeBytes
	}
	return all
}

// first are the first of the files that wait and can be exported, as large as they were seen last.
func (t *Track) first() []Wait {
	var all []Wait
	for _, s := range t.plan.Puts {
		if len(all) == namedAtMost {
			break
		}
		if !t.done[s.Key] && !slices.ContainsFunc(t.progress.Blocked, func(w Wait) bool { return w.Path == s.File.Path }) {
			all = append(all, Wait{s.File.Path, s.File.SizeBytes, s.Reason})
		}
	}
	all = slices.Concat(all, t.plan.Waits)
	all = all[:min(namedAtMost, len(all))]
	planned := t.planned()
	for _, w := range t.unseen {
		i := slices.IndexFunc(all, func(other Wait) bool { return other.Path == w.Path })
		if _, ok := planned[w.Path]; i >= 0 {
			all[i].SizeBytes = w.SizeBytes
		} else if !ok && len(all) < namedAtMost {
			all = append(all, w)
		}
	}
	return all
}

// take takes up a new plan.
func (t *Track) take(p Plan, tree Tree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.plans++
	t.plan, t.tree, t.done, t.unseen, t.seen = p, tree, map[string]bool{}, nil, true
	t.progress.Files, t.progress.Bytes, t.progress.Blocked = p.Pending(), 0, p.Blocked
	if t.began.IsZero() {
		t.began = time.Now()
	}
	for _, s := range p.Puts {
		t.progress.Bytes += s.File.SizeBytes
	}
	for _, w := range slices.Concat(p.Waits, p.Blocked) {
		t.progress.Bytes += w.SizeBytes
	}
}

// Peek looks at the directory beside a round, for files that the round knows nothing of.
func (m *Mirror) Peek() error {
	plans := m.Track.taken()
	tree, err := Scan(m.Rule)
	if err != nil {
		return err
	}
	m.Track.mu.Lock()
	defer m.Track.mu.Unlock()
	if m.Track.plans != plans {
		return nil // the plan is of a later look
	}
	m.Track.unseen = unseen(m.Rule, m.Track.tree, tree)
	return nil
}

func (t *Track) taken() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.plans
}

// unseen are the files that the rule wants and that are new or changed since an earlier tree. Before the first look at
// the bucket these are all files, since its objects are not known yet.
func unseen(rule Rule, before, now Tree) []Wait {
	var all []Wait
	for _, f := range now.Files {
		was, ok := before.file(f.Path)
		if !temporary(f.Path) && (!ok && rule.New || ok && rule.Changed && !unchanged(was, f)) {
			all = append(all, Wait{f.Path, f.SizeBytes, "it just came"})
		}
	}
	return all
}

// tell adds the paths of what was seen beside the rounds. A watch says nothing of a file that was changed under another
// name, nor of one that got or lost such a name.
func (t *Track) tell(changed map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.unseen {
		if _, ok := changed[w.Path]; !ok {
			changed[w.Path] = false
		}
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
	t.progress.Moved += max(bytes, 0)
}

// kept moves an upload forth over what was sent before.
func (t *Track) kept(s *Sending, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.SentBytes += bytes
	t.progress.Moved += bytes
}

func (t *Track) moved(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Moved += n
}

func (t *Track) end(s *Sending, key string, done bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sending = slices.DeleteFunc(t.sending, func(other *Sending) bool { return other == s })
	if done {
		t.done[key] = true
		t.progress.Files--
		t.progress.Bytes -= s.SizeBytes
		t.progress.Moved++
	}
}

// exported counts a file that was put.
func (t *Track) exported() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Exported++
}

// gone counts an object that was deleted.
func (t *Track) gone() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Files--
	t.progress.Moved++
}

func (t *Track) block(all []Wait) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Blocked = slices.Clone(all)
}

func (t *Track) looked(well bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = well
}

func (t *Track) succeeded(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.Success = at
}

// looking is a store whose answers are told.
type looking struct {
	store.Store
	track *Track
}

func (l looking) List(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		for o, err := range l.Store.List(ctx, prefix) {
			l.track.moved(1)
			if !yield(o, err) {
				return
			}
		}
	}
}

func (l looking) Head(ctx context.Context, key string) (store.Object, error) {
	o, err := l.Store.Head(ctx, key)
	if err == nil {
		l.track.moved(1)
	}
	return o, err
}
