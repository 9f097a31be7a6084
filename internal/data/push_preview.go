package data

import (
	"context"
	"os"
	"sync"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// PushStep is what a push would do about a path.
type PushStep struct {
	Deed  string `json:"deed"` // send; compare, and send if the object is another one; delete; refuse
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why,omitempty"` // of refuse
}

// Preview tells what Run would do, and does nothing. What would be compared is counted as found.
func (p Push) Preview(ctx context.Context, tell func(PushStep) error) (Pushed, error) {
	if err := p.check(); err != nil {
		return Pushed{}, err
	}
	j, err := readJournal(p.journalPath())
	if err != nil {
		return Pushed{}, err
	}
	defer j.close()
	if p.different, err = p.compareBytes(ctx); err != nil {
		return Pushed{}, err
	}
	r := pushing{Push: p, journal: j}
	defer r.close()
	err = r.preview(ctx, tell)
	return r.done, err
}

func (r *pushing) preview(ctx context.Context, tell func(PushStep) error) error {
	var streams sync.WaitGroup
	defer streams.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := r.look(ctx, &streams)
	if err != nil {
		return err
	}
	for step, err := range plan(s, r.rules()) {
		if err != nil {
			return err
		}
		r.done.foreseen(step)
		if seen, ok := step.preview(); ok {
			if err := tell(seen); err != nil {
				return err
			}
		}
	}
	r.seenAll()
	if r.done.Files == 0 && r.done.Problems.All == 0 {
		return r.nothing()
	}
	return nil
}

// preview is a step as people see it, if there is anything to do.
func (s step) preview() (PushStep, bool) {
	switch s.deed {
	case send:
		return PushStep{Deed: "send", Path: s.path, Bytes: s.file.SizeBytes}, true
	case compare:
		return PushStep{Deed: "compare", Path: s.path, Bytes: s.file.SizeBytes}, true
	case remove:
		return PushStep{Deed: "delete", Path: s.path, Bytes: s.bytes}, true
	case wrong:
		return PushStep{Deed: "refuse", Path: s.path, Why: whole.Cause(s.err).Error()}, true
	}
	return PushStep{}, false
}

// foreseen counts a step as if it were done.
func (p *Pushed) foreseen(s step) {
	switch s.deed {
	case send:
		p.SentFiles++
		p.SentBytes += s.file.SizeBytes
	case compare:
		p.FoundFiles++
		p.FoundBytes += s.file.SizeBytes
	case remove:
		p.DeletedFiles++
		p.DeletedBytes += s.bytes
	}
	if s.deed == keep || s.deed == stay || s.deed == send || s.deed == compare {
		p.Files++
		p.Bytes += max(s.file.SizeBytes, s.record.SizeBytes)
	}
	p.differed(s)
	p.settled(s)
}

// readJournal opens a journal without taking it, if there is one.
func readJournal(path string) (*journal, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		f, err = os.Open(os.DevNull)
	}
	return &journal{path: path, file: f}, err
}
