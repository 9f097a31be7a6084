package export

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/muster-hpc/muster/internal/store"
)

const (
	largeBytes    = 256 << 20
	flightsAtOnce = 2
)

// flight is a put of a large file that goes on beside the rounds: what is new meanwhile does not wait for it. What needs it does, as
// its object is not there.
type flight struct {
	step   Step
	stop   context.CancelCauseFunc
	landed chan struct{} // closed when what follows is there
	result Result
	err    error
}

// flights are those of a mirror, and belong to its rounds, which take in what has landed.
type flights struct {
	above int64              // bytes
	all   map[string]*flight // by path
	slots chan struct{}
	left  atomic.Int32
	bell  chan<- struct{} // rings when none is left
}

func (m *Mirror) flights() *flights {
	if m.beside == nil {
		m.beside = &flights{above: cmp.Or(m.Large, largeBytes), all: map[string]*flight{}, slots: make(chan struct{}, flightsAtOnce), bell: m.ringer()}
	}
	return m.beside
}

// errStale says that a file is not any more what is being put.
var errStale = errors.New("the file changed while it was sent")

// flies starts a step that goes beside the rounds, unless it is on its way. Others it leaves to the round.
func (r *round) flies(ctx context.Context, s Step) bool {
	if r.Beside == nil || s.File.SizeBytes <= r.Beside.above {
		return false
	}
	r.result.Beside++
	if _, on := r.Beside.all[s.File.Path]; on {
		return true
	}
	ctx, stop := context.WithCancelCause(ctx)
	f := &flight{step: s, stop: stop, landed: make(chan struct{})}
	r.Beside.all[s.File.Path] = f
	w := r.Work
	w.Beside, w.Store = nil, w.Slow
	r.mu.Lock()
	plan := Plan{Puts: []Step{s}, Blocked: slices.Clone(r.result.Blocked)}
	r.mu.Unlock()
	r.Beside.left.Add(1)
	go r.Beside.fly(ctx, f, plan, w) // land waits for its end, or end does
	return true
}

func (all *flights) fly(ctx context.Context, f *flight, p Plan, w Work) {
	defer func() {
		close(f.landed)
		if all.left.Add(-1) > 0 {
			return
		}
		select {
		case all.bell <- struct{}{}:
		default: // it rings already
		}
	}()
	select {
	case all.slots <- struct{}{}:
		f.result, f.err = Apply(ctx, p, w)
		<-all.slots
	case <-ctx.Done():
	}
}

// landed takes from the flights those that have come to their end.
func (all *flights) landed() []*flight {
	if all == nil {
		return nil
	}
	var landed []*flight
	for _, p := range slices.Sorted(maps.Keys(all.all)) {
		f := all.all[p]
		select {
		case <-f.landed:
			f.stop(nil)
			delete(all.all, p)
			landed = append(landed, f)
		default:
		}
	}
	return landed
}

// drop ends those whose file is gone or another one by now, or that the plan does not want any more. One that has just done its
// deed stays until it is taken in.
func (all *flights) drop(t *Tree, p Plan) {
	if len(all.all) == 0 {
		return
	}
	wanted := map[string]bool{}
	for _, s := range p.Puts {
		wanted[s.File.Path] = true
	}
	for _, w := range slices.Concat(p.Waits, p.Blocked) {
		wanted[w.Path] = true
	}
	for path, f := range all.all {
		now, ok := t.file(path)
		if ok && wanted[path] && (unchanged(now, f.step.File) || grows(now)) {
			continue
		}
		f.stop(errStale)
		<-f.landed
		if len(f.result.Objects) == 0 {
			delete(all.all, path)
		}
	}
}

// end ends all of them.
func (all *flights) end() {
	if all == nil {
		return
	}
	for p, f := range all.all {
		f.stop(context.Canceled)
		<-f.landed
		delete(all.all, p)
	}
}

// land takes up what became of large files since the last round.
func (m *Mirror) land() (landed Result, err error) {
	landed.Objects = map[string]store.Object{}
	for _, f := range m.beside.landed() {
		m.moved = true
		for k, o := range f.result.Objects {
			if m.Record != nil && f.result.Same == 0 {
				m.Record.agree(pathOf(m.Rule.Prefix, k), knownAs(o))
			}
		}
		m.remember(f.result)
		maps.Copy(landed.Objects, f.result.Objects)
		landed.Same += f.result.Same
		landed.Changed = append(landed.Changed, f.result.Changed...)
		failed := maps.Clone(f.result.Failed)
		for p, a := range m.failed {
			if _, again := failed[p]; !again && failed != nil {
				failed[p] = a
			}
		}
		if failed != nil {
			m.failed = failed
		}
		err = errors.Join(err, f.err)
	}
	return landed, err
}

// with adds what was done beside the round.
func (r Result) with(landed Result) Result {
	maps.Copy(landed.Objects, r.Objects)
	r.Objects, r.Same, r.Changed = landed.Objects, landed.Same+r.Same, append(landed.Changed, r.Changed...)
	return r
}

// remember notes what the bucket has now.
func (m *Mirror) remember(r Result) {
	for k, o := range r.Objects {
		p := pathOf(m.Rule.Prefix, k)
		m.objects[p] = lean(o)
		m.Record.compared(p, lean(o))
	}
}

// flying is the store of what goes on beside the rounds. They read the record meanwhile, and note there themselves what has landed.
type flying struct{ noting }

// Put implements store.Store.
func (f flying) Put(ctx context.Context, u store.Upload) (store.Object, error) { return f.put(ctx, u) }
