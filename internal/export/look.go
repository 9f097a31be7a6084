package export

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

const (
	wholeEvery = 10 * time.Minute // whole looks although nothing was said, at the most
	wholeShare = 400              // and not more than one part in so many of the time
	restShare  = 20               // the same where each look is a whole one
	headsMost  = 500              // above so many changes, a list of the bucket is cheaper
)

// unfinished are names that the S3 server gives to what is not an object yet.
var unfinished = pattern.New(`^\.sgwtmp$|^\..+\.sgwtmp\.[0-9]+$`)

// looks are what a mirror saw last of both sides, and what tells it that something changed. Whole looks go on at a
// seldom pace beside the watches, which make it quick and cheap: a watch that misses something costs time, and no file.
type looks struct {
	tree    *Tree
	objects map[string]object // by path
	unclear map[string]bool   // of them, those that are still to be asked about
	here    *watch            // nil while the directory is looked at as a whole each time
	there   *watch            // the same for the bucket
	bell    chan struct{}
	patient bool      // the next look asks about all objects
	again   time.Time // when the next whole look is due
	moved   bool      // something changed since the last round that came to its end
	rested  bool      // that round had nothing to do and nothing to wait for
	cost    time.Duration
	blind   error // why there is no watch
}

// Blind says why there is no watch where there should be one: each look is a whole one then. The usual reason is a
// limit, fs.inotify.max_user_watches.
func (m *Mirror) Blind() error { return m.blind }

// Rest is how long to wait between looks at which nothing happens, so that they cost little: nothing where only changes
// are looked at.
func (m *Mirror) Rest() time.Duration {
	if m.here != nil && m.there != nil {
		return 0
	}
	return m.cost * restShare
}

// Bell rings when something changed on either side, if both are watched.
func (m *Mirror) Bell() <-chan struct{} {
	if m.bell == nil {
		m.bell = make(chan struct{}, 1)
	}
	return m.bell
}

// LookAgain makes the next look a whole one, after which nothing is unclear.
func (m *Mirror) LookAgain() { m.again, m.patient = time.Time{}, true }

// Close ends the watches, and what goes on beside the rounds. The mirror may be used on.
func (m *Mirror) Close() error {
	m.beside.end()
	m.forgetHere()
	m.forgetThere()
	return nil
}

func (m *Mirror) forgetHere() {
	_ = m.here.close()
	m.here = nil
}

func (m *Mirror) forgetThere() {
	_ = m.there.close()
	m.there = nil
}

// look brings what is known of both sides up to date, first the directory.
func (m *Mirror) look(ctx context.Context, now time.Time) error {
	start := time.Now()
	whole := m.tree == nil || !now.Before(m.again)
	if err := m.lookHere(whole); err != nil {
		return err
	}
	if err := m.lookThere(ctx, whole); err != nil {
		return err
	}
	if err := m.ask(ctx); err != nil {
		return err
	}
	m.patient = false
	if whole {
		m.Record.share(m.tree)
		m.cost = time.Since(start)
		m.again = now.Add(max(wholeEvery, wholeShare*m.cost))
	}
	return nil
}

// lookHere brings the tree up to date. If that fails, the next one is whole.
func (m *Mirror) lookHere(whole bool) (err error) {
	defer func() {
		if err != nil {
			m.forgetHere()
		}
	}()
	if changed, said := said(m.here); said && !whole {
		m.Track.tell(changed)
		if len(changed) == 0 {
			return nil
		}
		tree, err := m.tree.renewed(m.Rule, changed)
		if err == nil {
			m.tree, m.moved = &tree, true
		}
		return err
	} else if !said {
		whole = whole || m.here != nil
		m.forgetHere()
	}
	if m.here == nil && m.Place != "" && whole {
		m.here, m.blind = newWatch(m.Rule.Dir, nil, m.ringer())
	}
	tree, err := Scan(m.Rule)
	if err == nil {
		m.tree, m.moved = &tree, true
	}
	return err
}

// lookThere brings the objects up to date.
func (m *Mirror) lookThere(ctx context.Context, whole bool) (err error) {
	defer func() {
		if err != nil {
			m.forgetThere()
		}
	}()
	if changed, said := said(m.there); said && !whole && len(changed) < headsMost {
		changed = m.ofRule(changed)
		m.moved = m.moved || len(changed) > 0
		return m.looker().renew(ctx, m.objects, changed)
	} else if !said {
		whole = whole || m.there != nil
		m.forgetThere()
	}
	if m.there == nil && m.Place != "" && whole {
		var err error
		m.there, err = newWatch(m.Place, unfinished(), m.ringer())
		m.blind = cmp.Or(m.blind, err)
	}
	objects, err := m.looker().listed(ctx, key(m.Rule.Prefix, ""), m.objects)
	if err == nil {
		m.objects, m.moved = objects, true
	}
	return err
}

func (m *Mirror) looker() look {
	l := look{Store: looking{m.Store, &m.Track}, prefix: m.Rule.Prefix, tree: m.tree}
	if m.Record != nil {
		l.known = m.Record.known
	}
	return l
}

// ofRule leaves the keys below the rule's prefix, and those of which it is a part.
func (m *Mirror) ofRule(changed map[string]bool) map[string]bool {
	prefix := key(m.Rule.Prefix, "")
	mine := map[string]bool{}
	for k, isDir := range changed {
		switch {
		case strings.HasPrefix(k, prefix):
			mine[k] = isDir
		case isDir && strings.HasPrefix(prefix, k+"/"):
			mine[strings.TrimSuffix(prefix, "/")] = true
		}
	}
	return mine
}

func (m *Mirror) ringer() chan<- struct{} {
	m.Bell()
	return m.bell
}

// said is what a watch has to say, if there is one and it missed nothing.
func said(w *watch) (map[string]bool, bool) {
	if w == nil {
		return nil, false
	}
	changed, err := w.changes()
	return changed, err == nil
}
