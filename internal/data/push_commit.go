package data

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// deletesAtOnce is how many objects are deleted at a time.
const deletesAtOnce = 32

// commit makes the new manifest the dataset, and then removes what only the former one needed. The manifests that there
// were before the head is put are nobody's after it: a push that put one for the head before ours cannot commit.
func (r *pushing) commit(ctx context.Context) error {
	size, err := r.out.end()
	if err != nil {
		return err
	}
	if r.inherits {
		if whole, err := r.holds(ctx, r.out.file); err != nil || !whole {
			return cmp.Or(err, fmt.Errorf("what was sent: %w", store.ErrChanged))
		}
	}
	former := r.manifests
	head, err := r.putManifest(ctx, r.out.file.file, size)
	if err != nil {
		return err
	}
	head.State, head.Committed = manifest.Whole, time.Now()
	head.Files, head.Bytes = r.out.files, r.out.bytes
	if err := r.putHead(ctx, head); err != nil {
		return err
	}
	r.done.Committed, r.manifests = true, former
	if err := r.clean(ctx); err != nil {
		return fmt.Errorf("the dataset is there, but what it does not need any more is, too: %w", err)
	}
	return r.journal.remove()
}

// tidy removes manifests that former pushes left, of a dataset that stays as it is. The head is put anew first, so that none of
// them is one that another push is about to name.
func (r *pushing) tidy(ctx context.Context) error {
	head := r.head.head
	head.Committed = time.Now()
	if err := r.putHead(ctx, head); err != nil {
		return err
	}
	named := manifest.ManifestKey(r.Prefix, head.Manifest)
	r.manifests = slices.DeleteFunc(r.manifests, func(key string) bool { return key == named })
	if err := r.clean(ctx); err != nil {
		return fmt.Errorf("the dataset is there, but what it does not need any more is, too: %w", err)
	}
	return r.journal.remove()
}

// clean deletes objects whose files are gone, and old manifests.
func (r *pushing) clean(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(deletesAtOnce)
	for _, key := range r.manifests {
		group.Go(func() error {
			err := r.Bucket.Delete(ctx, key)
			if errors.Is(err, store.ErrDenied) { // it does no harm, and whoever may deletes it with a push of his
				r.count(func(p *Pushed) { p.OldManifests.add(key) })
				return nil
			}
			return err
		})
	}
	err := r.eachRemoved(func(m removed) {
		group.Go(func() error {
			err := r.Bucket.DeleteIf(ctx, r.key(m.Path), m.Version)
			switch {
			case err == nil:
				r.count(func(p *Pushed) { p.DeletedFiles++; p.DeletedBytes += m.Bytes })
			case errors.Is(err, store.ErrChanged): // somebody put another one since it was listed
				r.count(func(p *Pushed) { p.Strays.add(m.Path) })
				return nil
			}
			return err
		})
	})
	return errors.Join(err, group.Wait())
}

// removed is an object that is deleted after the commit.
type removed struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	Version string `json:"version"`
}

// remove remembers an object for after the commit. The journal has it, too: the manifest that named it will be gone.
func (r *pushing) remove(s step) (err error) {
	r.changed = true
	if !s.fresh {
		if err := r.journal.add(note{Path: s.path, Record: &s.record}); err != nil {
			return err
		}
	}
	if r.removes == nil {
		if r.removes, err = newScratch(r.State); err != nil {
			return err
		}
	}
	return json.NewEncoder(r.removes.file).Encode(removed{s.path, s.bytes, s.was})
}

func (r *pushing) eachRemoved(each func(removed)) error {
	if r.removes == nil {
		return nil
	}
	lines := json.NewDecoder(bufio.NewReader(r.removes.reader()))
	for {
		var m removed
		if err := lines.Decode(&m); err != nil {
			if err == io.EOF {
				return nil
			}
			return fmt.Errorf("read what is to be deleted: %w", err)
		}
		each(m)
	}
}
