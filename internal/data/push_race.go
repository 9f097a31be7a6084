package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/data/walk"
	"github.com/muster-hpc/muster/internal/store"
)

// ErrRival says that another push to the same dataset is under way, or was since this one began.
var ErrRival = errors.New("another push to this dataset is under way")

// loserLimit is how long a push that lost looks what it left.
const loserLimit = time.Minute

// rivalled ends a push that another one overtook. Objects that this one replaced may be in what the other one committed:
// then the dataset is not whole, and says so, until somebody pushes again.
func (r *pushing) rivalled(ctx context.Context, err error) error {
	err = fmt.Errorf("%w: %w; run the same again when it has ended", ErrRival, err)
	if !r.replaces {
		return err
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), loserLimit)
	defer stop()
	return errors.Join(err, r.mark(ctx))
}

// mark says of a dataset that is not whole that it is not.
func (r *pushing) mark(ctx context.Context) error {
	now, err := r.readHead(ctx)
	if err != nil || !now.there || now.head.State == manifest.Changing {
		return err
	}
	theirs := pushing{Push: r.Push, head: now}
	if theirs.former, err = theirs.fetch(ctx); err != nil {
		return err
	}
	defer theirs.close()
	if whole, err := theirs.holds(ctx, theirs.former); whole || err != nil {
		return err
	}
	head := now.head
	head.State, head.Committed = manifest.Changing, time.Now()
	if err := theirs.putHead(ctx, head); !errors.Is(err, store.ErrChanged) {
		return err
	}
	return nil // there is yet another push, which will see
}

// holds tells whether the bucket has each object of a manifest.
func (r *pushing) holds(ctx context.Context, s *scratch) (bool, error) {
	look := sources{walk: none[walk.File](), committed: s.records(), noted: none[note](), objects: r.objects(ctx, nil)}
	all := rules{wanted: func(string) bool { return true }, occupied: func(string) bool { return false }}
	for step, err := range plan(look, all) {
		if err != nil {
			return false, err
		}
		if step.deed == lost || step.deed == stray && step.named {
			return false, nil
		}
	}
	return true, nil
}

func none[T any]() iter.Seq2[T, error] { return func(func(T, error) bool) {} }
