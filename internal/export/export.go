// Package export mirrors finished files of a directory to a bucket, and fills a directory from a bucket: what a data
// repository association of FSx for Lustre does on AWS.
//
// Its laws: nothing temporary is exported; a pointer ("latest") never comes before the data that it names; after a
// round there is nothing left to plan until a file or an object changes; a kill at any moment costs only the round. An
// export needs no state: what is done is read from the bucket (size, modification time and SHA-256 of each object) and
// from the directory. An import has a Record of what was the same, because nothing else tells a file that was deleted
// from one that is new in the bucket; to an export it is only what spares it to ask about each object again.
//
//	Scan, List, ask (look)  ->  merge   ->  bring
//	                        ->  Decide  ->  Apply
package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/store"
)

// Rule ties a directory to the keys of a bucket that begin with a prefix. New, Changed and Deleted are for the export.
type Rule struct {
	Dir     string
	Trusted string // the part of Dir in which links are followed; "" for all of it
	Mount   string // where the cluster's machines see the directory; "" if that is not known
	Bucket  string
	Prefix  string // "" or "some/path"; files are below it
	New     bool   // export files that the bucket lacks
	Changed bool   // export files that differ from their objects
	Deleted bool   // delete objects whose files are gone
	Import  Policy

	Keep  checkpoint.Policy // which checkpoints stay in the bucket; those of the directory are for others to delete
	Quiet time.Duration     // how long nothing changes in a checkpoint that does not tell when it is whole, until it is taken as whole
}

// exports says that anything of the directory goes to the bucket.
func (r Rule) exports() bool { return r.New || r.Changed || r.Deleted }

// Pace says how long to wait for files that are being written.
type Pace struct {
	Settle   time.Duration // a file untouched for so long is finished even if it was never seen before
	Late     time.Duration // what other machines write may show only so much later, in size and in time
	LogEvery time.Duration // a growing log is exported again after so long at the earliest
}

// DefaultPace suits a look every few seconds.
var DefaultPace = Pace{Settle: 5 * time.Second, LogEvery: 10 * time.Second}

// Mirror keeps a bucket and a directory alike, round by round. Without a record it remembers only what spares it work,
// and imports nothing. Not for use by more than one goroutine.
type Mirror struct {
	Rule   Rule
	Pace   Pace
	Store  store.Store
	Record *Record // what was the same; needed for imports, and else spares looks at objects
	Place  string  // where the bucket's objects are plain files, so that both sides can be watched; "" to list them
	Large  int64   // no round waits for files that are longer; 0 for 256 MiB

	Track Track // how far it is, for other goroutines to ask

	looks
	before *Tree // what the last round decided on
	seen   checkpoint.Memory
	later  retries
	failed map[string]Attempt
	beside *flights
}

// Round looks, decides and acts once, first for what the bucket has to give and then for what it is to get. After an
// error the next round makes up for it.
func (m *Mirror) Round(ctx context.Context, now time.Time) (Result, error) {
	landed, slow := m.land()
	if err := m.look(ctx, now); err != nil {
		m.Track.looked(false)
		return landed, errors.Join(slow, err)
	}
	if m.rested && !m.moved {
		m.Track.looked(true)
		m.Track.succeeded(time.Now())
		return Result{}, nil
	}
	moved := m.moved
	result, err := m.round(ctx, now)
	result, err = result.with(landed), errors.Join(slow, err)
	if errors.Is(err, store.ErrNotFound) {
		m.Track.looked(false) // the bucket went meanwhile
	}
	if err == nil {
		m.moved = false
		m.rested = !moved && len(m.unclear) == 0 && result.settled()
	}
	return result, err
}

func (m *Mirror) round(ctx context.Context, now time.Time) (Result, error) {
	if err := m.sweep(*m.tree, now); err != nil {
		return Result{}, err
	}
	imported, importErr := m.imports(ctx, now, *m.tree, m.objects)
	if imported.did() {
		if err := m.lookHere(false); err != nil {
			return Result{Import: imported}, errors.Join(importErr, err)
		}
		m.sort()
	}
	result, err := m.exports(ctx, now, *m.tree, m.objects) // what cannot come in keeps nothing from going out
	result.Import = imported
	m.before = m.tree
	return result, errors.Join(importErr, err)
}

// imported says that the record is one of imports.
func (m *Mirror) imported() bool { return m.Record != nil && m.Rule.Import.any() }

func (m *Mirror) state(tree Tree, now time.Time, objects map[string]object) State {
	s := State{Rule: m.Rule, Pace: m.Pace, Time: now, Tree: tree, Before: m.before, Objects: objects, Unclear: m.unclear, Failed: m.failed}
	if m.imported() {
		s.Known = m.Record.known
	}
	return s
}

// settled says that a round had nothing to do, and that none will have until something changes.
func (r Result) settled() bool {
	in := r.Import
	return cmp.Or(len(r.Objects), len(r.Deleted), r.Pending, in.Files, in.Removed, in.Waiting, len(in.Failed)) == 0
}

// sweep removes what a killed import left: all of it at first, and later what stands still.
func (m *Mirror) sweep(tree Tree, now time.Time) error {
	if m.before != nil {
		now = now.Add(-time.Minute)
	}
	return sweep(m.Rule, tree, now)
}

// imports takes over what happened in the bucket.
func (m *Mirror) imports(ctx context.Context, now time.Time, tree Tree, objects map[string]object) (Imported, error) {
	if !m.imported() {
		return Imported{}, nil
	}
	r := m.Record
	plan := merge(merging{Rule: m.Rule, Tree: tree, Objects: objects, Known: r.known, Sent: r.sent, Unclear: m.unclear, Full: r.full})
	plan.remember(r)
	dir, err := m.Rule.open()
	if err != nil {
		return Imported{}, fmt.Errorf("import into %s: %w", m.Rule.Dir, err)
	}
	defer dir.Close()
	m.later.keep(plan.Fetch)
	in := &importer{dir: dir, rule: m.Rule, store: m.Store, record: r, later: &m.later, now: now}
	done := in.bring(ctx, plan)
	if err := context.Cause(ctx); err != nil {
		return done, fmt.Errorf("import into %s: %w", m.Rule.Dir, err)
	}
	r.looked(cmp.Or(len(done.Failed), done.Waiting) == 0, m.unclear)
	if err := r.err(); err != nil {
		return done, fmt.Errorf("remember what was imported into %s: %w", m.Rule.Dir, err)
	}
	return done, nil
}

// exports brings the bucket up to date.
func (m *Mirror) exports(ctx context.Context, now time.Time, tree Tree, objects map[string]object) (Result, error) {
	if !m.Rule.exports() {
		return Result{}, nil
	}
	d := begin(m.state(tree, now, objects))
	if err := m.see(d); err != nil {
		return Result{}, err
	}
	plan := d.decide()
	m.Track.take(plan, tree)
	m.flights().drop(&tree, plan)
	work := Work{Root: m.Rule.Dir, Trusted: m.Rule.Trusted, Prefix: m.Rule.Prefix, Store: m.Store, Time: now, Failed: m.failed, Track: &m.Track, Beside: m.beside, Slow: m.Store}
	if m.Record != nil {
		n := noting{m.Store, m.Record, m.Rule.Prefix}
		work.Store, work.Slow = n, flying{n}
	}
	result, err := Apply(ctx, plan, work)
	m.remember(result)
	m.failed = plan.still(m.failed, result)
	err = errors.Join(err, m.abandon(ctx, plan))
	if fault := m.Record.err(); fault != nil {
		err = errors.Join(err, fmt.Errorf("remember what was exported of %s: %w", m.Rule.Dir, fault))
	}
	if err == nil {
		m.Track.succeeded(time.Now())
	}
	return result, err
}

// still are the files that could not be exported, after a round.
func (p Plan) still(before map[string]Attempt, r Result) map[string]Attempt {
	now := map[string]Attempt{}
	for _, w := range p.Blocked {
		if a, ok := before[w.Path]; ok {
			now[w.Path] = a
		}
	}
	for _, s := range p.Puts {
		if a, ok := before[s.File.Path]; ok && s.Again {
			if _, done := r.Objects[s.Key]; !done {
				now[s.File.Path] = a
			}
		}
	}
	maps.Copy(now, r.Failed)
	return now
}
