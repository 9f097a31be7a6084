package data

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"
)

// comparedAtOnce is how many files are read at once for their checksums.
const comparedAtOnce = 8

// compareBytes reads the files that have the size and time that they had when they were sent, and returns which have other bytes now.
// A file that cannot be read is one of them: sending it says what is wrong with it.
func (p Push) compareBytes(ctx context.Context) (different map[string]bool, err error) {
	if !p.Options.Checksum {
		return nil, nil
	}
	j, err := readJournal(p.journalPath())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	r := pushing{Push: p, journal: j}
	defer r.close()
	var streams sync.WaitGroup
	defer streams.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := r.look(ctx, &streams)
	if err != nil {
		return nil, err
	}
	p.Progress.Begin("compare")
	return r.differing(ctx, s)
}

// differing reads the files that the plan keeps.
func (r *pushing) differing(ctx context.Context, s sources) (map[string]bool, error) {
	different := map[string]bool{}
	var mu sync.Mutex // guards different
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(comparedAtOnce)
	for step, err := range plan(s, r.rules()) {
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		if step.deed != keep {
			continue
		}
		r.Progress.Expect(1, step.file.SizeBytes)
		group.Go(func() error {
			same, err := r.sameBytes(ctx, step)
			if err != nil {
				return err
			}
			if !same {
				mu.Lock()
				defer mu.Unlock()
				different[step.path] = true
			}
			r.Progress.Move(step.file.SizeBytes)
			r.Progress.Done(1)
			return nil
		})
	}
	r.Progress.Counted()
	return different, group.Wait()
}

// sameBytes reports whether a file has the checksum that it had when it was sent.
func (r *pushing) sameBytes(ctx context.Context, s step) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	in, err := r.open(ctx, s.path)
	if err != nil {
		return false, onlyOfPush(err)
	}
	defer in.close()
	sums, err := in.sums()
	return err == nil && sums.SHA256 == s.record.SHA256, onlyOfPush(err)
}

// onlyOfPush returns the errors that are about more than one file.
func onlyOfPush(err error) error {
	if _, ofFile := errors.AsType[fileError](err); ofFile {
		return nil
	}
	return err
}
