package data

import (
	"context"
	"errors"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// Folder is a directory at the top of a dataset, and what is in there at any depth.
type Folder struct {
	Name  string `json:"name"` // "" for the files that are in none
	Files int64  `json:"files"`
	Bytes int64  `json:"bytes"`
}

// Folders sums files up by the directories at the top. Records come in their order, so no more than the sums are held.
func Folders(records iter.Seq2[manifest.Record, error]) ([]Folder, error) {
	var top Folder
	var folders []Folder
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		name, _, deeper := strings.Cut(r.Path, "/")
		at := &top
		if deeper {
			if n := len(folders); n == 0 || folders[n-1].Name != name {
				folders = append(folders, Folder{Name: name})
			}
			at = &folders[len(folders)-1]
		}
		at.Files++
		at.Bytes += r.SizeBytes
	}
	if top.Files > 0 {
		folders = append(folders, top)
	}
	return folders, nil
}

// Found is a dataset that was found in a bucket.
type Found struct {
	Prefix string
	Head   manifest.Head
	Err    error // ErrHead in place of the head
}

// deepest is how far below a prefix datasets are looked for.
const deepest = 2

// browser is a bucket whose keys can be gone through as directories.
type browser interface {
	Folders(ctx context.Context, prefix string) iter.Seq2[string, error]
}

// Datasets finds the datasets at a prefix and up to two levels below it, in the order of their prefixes. None is looked
// for inside another one, and one that cannot be read hides no other.
func Datasets(ctx context.Context, bucket store.Store, prefix string) ([]Found, error) {
	return find(ctx, bucket, prefix, deepest)
}

// Below finds those that are below a dataset. In its own folders there are too many directories to look into each.
func Below(ctx context.Context, bucket store.Store, prefix string, own []Folder) ([]Found, error) {
	return below(ctx, bucket, prefix, deepest, own)
}

func find(ctx context.Context, bucket store.Store, prefix string, levels int) ([]Found, error) {
	head, err := FindHead(ctx, bucket, prefix, prefix)
	if errors.Is(err, ErrNone) {
		return below(ctx, bucket, prefix, levels, nil)
	}
	if err != nil && !errors.Is(err, ErrHead) {
		return nil, err
	}
	return []Found{{prefix, head, err}}, nil
}

func below(ctx context.Context, bucket store.Store, prefix string, levels int, own []Folder) ([]Found, error) {
	folders, ok := bucket.(browser)
	if !ok || levels == 0 {
		return nil, nil
	}
	var mu sync.Mutex // guards of
	of := map[string][]Found{}
	var order []string
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for folder, err := range folders.Folders(ctx, manifest.Key(prefix, "")) {
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		at := path.Join(prefix, folder)
		if folder == manifest.Dir+"/" || folder == "/" {
			continue
		}
		order = append(order, at)
		further := levels - 1
		if slices.ContainsFunc(own, func(f Folder) bool { return f.Name+"/" == folder }) {
			further = 0
		}
		group.Go(func() error {
			found, err := find(groupCtx, bucket, at, further)
			mu.Lock()
			defer mu.Unlock()
			of[at] = found
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var all []Found
	for _, at := range order {
		all = append(all, of[at]...)
	}
	return all, nil
}
