package export

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/muster-hpc/muster/internal/store"
	"golang.org/x/sync/errgroup"
)

// asksMost is how many objects are asked about in one look: what is new in the directory does not wait for all of them.
const asksMost = 2000

// unasked is the Sum of an object of which only a listing and the record are known.
const unasked = 1

// remembered adds what the record knows of an object that was listed.
func (k Known) remembered(o object, home uint64) object {
	if k.SizeBytes >= 0 {
		o.ModTime = k.ModTime
	}
	if k.Change > 0 {
		o.Self = self{home, k.Inode, k.Change}
	}
	return o
}

// doubt decides which objects have to be asked about.
type doubt struct {
	Rule  Rule
	Tree  *Tree
	Known map[string]Known
	Sent  map[string]Known
}

// unclear says that decisions about an object need more than what a listing says and the record remembers. A restart
// would else ask about each object of a bucket.
func (d doubt) unclear(p string, o object) bool {
	if o.Sum != unasked {
		return false
	}
	k, known := d.Known[p]
	same := known && k.is(o)
	f, here := d.Tree.file(p)
	if !d.Rule.Import.any() {
		return !same || here && f.Link != ""
	}
	if _, sent := d.Sent[p]; sent {
		return true
	}
	switch {
	case !here:
		return false // it comes as it is, or nothing happens
	case !same:
		return true
	case k.holds(f):
		return d.Rule.Changed && f.Link == "" && !k.told(f)
	}
	return f.Link != "" || f.SizeBytes == o.SizeBytes
}

// ask asks about objects of which too little is known: of very many only about some in one look. The others are unclear
// until later looks.
func (m *Mirror) ask(ctx context.Context) error {
	if !m.moved && len(m.unclear) == 0 {
		return nil
	}
	m.sort()
	if len(m.unclear) == 0 {
		return nil
	}
	m.moved = true
	some := slices.Sorted(maps.Keys(m.unclear))
	if !m.patient {
		some = some[:min(len(some), asksMost)]
	}
	err := m.looker().ask(ctx, m.objects, some)
	for _, p := range some {
		if o, ok := m.objects[p]; !ok || o.Sum != unasked {
			delete(m.unclear, p)
			m.Record.saw(p, o, ok, m.tree.home)
		}
	}
	return err
}

// sort finds out which objects are unclear.
func (m *Mirror) sort() {
	d := doubt{Rule: m.Rule, Tree: m.tree}
	if m.Record != nil {
		d.Known, d.Sent = m.Record.known, m.Record.sent
	}
	m.unclear = map[string]bool{}
	for p, o := range m.objects {
		if d.unclear(p, o) {
			m.unclear[p] = true
		}
	}
}

// ask looks at these objects.
func (l look) ask(ctx context.Context, objects map[string]object, paths []string) error {
	var mu sync.Mutex // guards objects
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(looksAtOnce)
	for _, p := range paths {
		group.Go(func() error { return l.one(ctx, objects, &mu, p) })
	}
	return group.Wait()
}

// one looks at one object again.
func (l look) one(ctx context.Context, objects map[string]object, mu *sync.Mutex, p string) error {
	o, err := l.Head(ctx, key(l.prefix, p))
	mu.Lock()
	defer mu.Unlock()
	switch {
	case err == nil:
		delete(objects, p) // its name is the tree's from now on
		objects[l.name(key(l.prefix, p))] = lean(o)
	case errors.Is(err, store.ErrNotFound):
		delete(objects, p)
		err = nil
	}
	return err
}
