package data

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

const (
	smallAtOnce = 32
	bigAtOnce   = 4
	bigBytes    = 64 << 20 // what is larger has many requests under way by itself
)

// send does all that the plan says but what comes after the commit.
func (r *pushing) send(ctx context.Context) error {
	var streams sync.WaitGroup
	defer streams.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := r.look(ctx, &streams)
	if err != nil {
		return err
	}
	if r.out, err = newOutgoing(r.State, r.former); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	l := lanes{small: make(chan job, windowSlots), big: make(chan job, windowSlots)}
	l.work(ctx, group, r)
	group.Go(func() error { return r.carry(ctx, s, l) })
	if err = group.Wait(); err == nil {
		r.seenAll()
	}
	r.done.Files, r.done.Bytes = r.out.files, r.out.bytes
	return err
}

// job is a file that may have to be sent.
type job struct {
	step step
	slot *slot
}

// lanes lead to those who send. There is room for as many as the window has.
type lanes struct{ small, big chan job }

// work begins to send what comes on the lanes. What is big does not keep small files waiting.
func (l lanes) work(ctx context.Context, group *errgroup.Group, r *pushing) {
	for lane, n := range map[chan job]int{l.small: smallAtOnce, l.big: bigAtOnce} {
		for range n {
			group.Go(func() error {
				for j := range lane {
					if err := r.bring(ctx, j); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
}

// carry takes up the steps of the plan in their order.
func (r *pushing) carry(ctx context.Context, s sources, l lanes) error {
	defer close(l.small)
	defer close(l.big)
	stop := context.AfterFunc(ctx, func() { r.out.fail(context.Cause(ctx)) })
	defer stop()
	for step, err := range plan(s, r.rules()) {
		if err == nil {
			err = r.begin(ctx, step, l)
		}
		if err != nil {
			return err
		}
	}
	r.Progress.Counted()
	return nil
}

// begin does what a step needs in the order of the plan: its place in the manifest.
func (r *pushing) begin(ctx context.Context, s step, l lanes) error {
	if s.begun != nil && s.deed != send {
		if err := r.Bucket.Abort(ctx, r.key(s.path), s.begun.Upload); err != nil {
			return err
		}
	}
	if !s.fresh && (s.deed == keep || s.deed == stay) {
		r.count(func(p *Pushed) { p.settled(s) })
		return r.out.keep(s.record)
	}
	if err := r.out.part(); err != nil {
		return err
	}
	switch s.deed {
	case compare, send:
		return r.enqueue(ctx, s, l)
	case keep, stay:
		r.changed = true
		r.count(func(p *Pushed) { p.settled(s) })
		return r.out.add(s.record)
	case remove:
		return r.remove(s)
	}
	r.changed = r.changed || s.deed == lost || s.named
	r.count(func(p *Pushed) { p.settled(s) })
	return nil
}

func (r *pushing) enqueue(ctx context.Context, s step, l lanes) error {
	r.changed, r.replaces = true, r.replaces || s.named
	r.count(func(p *Pushed) { p.differed(s) })
	if err := r.take(ctx, s.named); err != nil {
		return err
	}
	place, err := r.out.slot()
	if err != nil {
		return err
	}
	r.Progress.Expect(1, s.file.SizeBytes)
	lane := l.small
	if s.file.SizeBytes > bigBytes {
		lane = l.big
	}
	lane <- job{s, place}
	return nil
}

// bring brings a file to the bucket. What is wrong with the file alone is no error of the push.
func (r *pushing) bring(ctx context.Context, j job) error {
	record, err := r.settle(ctx, j.step)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if only, ok := errors.AsType[fileError](err); ok {
		err = only.error
	} else if err != nil && !errors.Is(err, store.ErrRefused) && !errors.Is(err, store.ErrChecksum) && !r.rights.ofOne(err) {
		return err
	}
	if err != nil {
		r.count(func(p *Pushed) { p.Problems.add(j.step.path, err) })
		record = manifest.Record{}
	} else {
		r.rights.given.Add(1)
	}
	r.out.fill(j.slot, record)
	r.Progress.Done(1)
	return nil
}

// settle makes the object the file, if it is not.
func (r *pushing) settle(ctx context.Context, s step) (manifest.Record, error) {
	if s.deed == compare {
		record, err := r.find(ctx, s)
		if err != nil {
			return record, err
		}
		if record.Path != "" {
			r.count(func(p *Pushed) { p.FoundFiles++; p.FoundBytes += record.SizeBytes })
			r.Progress.Move(record.SizeBytes)
			return record, r.journal.add(note{Path: s.path, Record: &record})
		}
	}
	record, err := r.put(ctx, s)
	if err != nil {
		return record, err
	}
	r.count(func(p *Pushed) { p.SentFiles++; p.SentBytes += record.SizeBytes })
	return record, r.journal.add(note{Path: s.path, Record: &record})
}

func (r *pushing) count(add func(*Pushed)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add(&r.done)
}

// differed notes a file that has other bytes at the same size and time.
func (p *Pushed) differed(s step) {
	if s.differs {
		p.Different.add(s.path)
	}
}

// settled counts a step that moves no data.
func (p *Pushed) settled(s step) {
	switch s.deed {
	case keep:
		p.UnchangedFiles++
		p.UnchangedBytes += s.record.SizeBytes
	case stay:
		if s.unmeant {
			p.LeftOutFiles++
		} else {
			p.StayingFiles++
		}
	case stray:
		p.Strays.add(s.path)
		if dir, ok := headOf(s.path); ok {
			p.Below.add(dir)
		}
	case lost:
		p.Lost.add(s.path)
	case wrong:
		p.Problems.add(s.path, s.err)
	}
}
