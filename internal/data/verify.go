package data

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/minio/crc64nvme"
	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

const (
	headsAtOnce = 64 // requests that ask for no content
	readsAtOnce = 16 // contents that are read
	mostNames   = 1000
)

// Verify compares a dataset's manifest with its objects.
type Verify struct {
	Dataset  *Dataset
	Wanted   func(path string, dir bool) bool // nil for all
	Progress *Progress                        // may be nil
}

// Verified is what was found.
type Verified struct {
	Files, Bytes int64 // that are as they should be
	Unproven     int64 // of these: files whose objects have no checksum at their place, so that only size and version are known
	Extra        Names // objects that are none of the dataset
	Problems     Problems
}

// Names are some of many.
type Names struct {
	List []string
	All  int64
}

func (n *Names) add(name string) {
	if n.All++; len(n.List) < mostNames {
		n.List = append(n.List, name)
	}
}

// Heads asks the bucket's place for each object's size, version and checksum. No content is read.
func (v *Verify) Heads(ctx context.Context) (Verified, error) {
	run := &verifying{Verify: v}
	err := run.each(ctx, headsAtOnce, func(ctx context.Context, r manifest.Record) (bool, error) {
		o, err := v.Dataset.bucket.Head(ctx, manifest.Key(v.Dataset.Prefix, r.Path))
		if err != nil {
			return false, err
		}
		return o.CRC64NVME != "" && r.CRC64NVME != "", differs(r, o)
	})
	if err == nil {
		err = run.extras(ctx)
	}
	return run.found, err
}

// differs compares what a place says of an object with its record.
func differs(r manifest.Record, o store.Object) error {
	switch {
	case o.SizeBytes != r.SizeBytes:
		return flaw{fmt.Errorf("its object has %d bytes, the manifest says %d", o.SizeBytes, r.SizeBytes)}
	case o.CRC64NVME != "" && r.CRC64NVME != "" && o.CRC64NVME != r.CRC64NVME:
		return flaw{fmt.Errorf("its object has other bytes: CRC64NVME %s, the manifest says %s", o.CRC64NVME, r.CRC64NVME)}
	case r.Version != "" && o.Version != r.Version:
		return store.ErrChanged
	}
	return nil
}

// Full reads every byte of every object, and compares its SHA-256, or the CRC64NVME of each of its parts.
func (v *Verify) Full(ctx context.Context) (Verified, error) {
	run := &verifying{Verify: v}
	read := newArrival(v.Dataset.bucket, v.Dataset.Prefix, nil, v.Progress)
	err := run.each(ctx, readsAtOnce, func(ctx context.Context, r manifest.Record) (bool, error) {
		if len(r.Parts) > 0 {
			return true, read.proveParts(ctx, r)
		}
		return true, read.prove(ctx, r)
	})
	if err == nil {
		err = run.extras(ctx)
	}
	return run.found, err
}

// prove reads an object to its end, and keeps nothing of it.
func (a *arrival) prove(ctx context.Context, r manifest.Record) error {
	for n := 1; ; n++ {
		sha := sha256.New()
		err := a.read(ctx, r, 0, r.SizeBytes, func(b []byte, _ int64) error {
			sha.Write(b)
			return nil
		})
		if err != nil || hex.EncodeToString(sha.Sum(nil)) == r.SHA256 {
			return err
		}
		a.progress.Move(-r.SizeBytes)
		if n == fetches {
			return errDamaged
		}
	}
}

// proveParts reads the parts of an object, several at once.
func (a *arrival) proveParts(ctx context.Context, r manifest.Record) error {
	group, ctx := errgroup.WithContext(ctx)
	p := parted{arrival: a, record: r}
	for i := range r.Parts {
		select {
		case a.parts <- struct{}{}:
		case <-ctx.Done():
			return group.Wait()
		}
		group.Go(func() error {
			defer func() { <-a.parts }()
			return p.provePart(ctx, i)
		})
	}
	return group.Wait()
}

func (p *parted) provePart(ctx context.Context, i int) error {
	from, size := p.span(i)
	for n := 1; ; n++ {
		crc := uint64(0)
		err := p.read(ctx, p.record, from, size, func(b []byte, _ int64) error {
			crc = crc64nvme.Update(crc, b)
			return nil
		})
		if err != nil || crcText(crc) == p.record.Parts[i] {
			return err
		}
		p.progress.Move(-size)
		if n == fetches {
			return fmt.Errorf("%w: those from %d to %d", errDamaged, from, from+size)
		}
	}
}

// verifying is a comparison under way.
type verifying struct {
	*Verify
	rights denials

	mu    sync.Mutex // guards found
	found Verified
}

// each judges the wanted files, many at once. What is wrong with one keeps it from no other.
func (v *verifying) each(ctx context.Context, atOnce int, judge func(context.Context, manifest.Record) (proven bool, err error)) error {
	outer := ctx
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	var failed error
	for r, err := range v.Dataset.wanted(ctx, v.Wanted) {
		if err != nil {
			failed = err
			break
		}
		group.Go(func() error {
			proven, err := judge(ctx, r)
			return v.count(ctx, r, proven, err)
		})
	}
	if err := group.Wait(); err != nil || failed != nil {
		return cmp.Or(err, failed)
	}
	return v.Dataset.settled(outer)
}

func (v *verifying) count(ctx context.Context, r manifest.Record, proven bool, err error) error {
	if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNotFound) {
		err = v.Dataset.replaced(ctx, err)
	}
	if errors.Is(err, store.ErrArchived) {
		err = flaw{store.ErrArchived}
	}
	if err != nil && !isFlaw(err) && !errors.Is(err, errDamaged) && !errors.Is(err, store.ErrRefused) && !v.rights.ofOne(err) {
		return err
	}
	v.Progress.Done(1)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.found.Problems.add(r.Path, err)
		return nil
	}
	v.rights.given.Add(1)
	v.found.Files++
	v.found.Bytes += r.SizeBytes
	if !proven {
		v.found.Unproven++
	}
	return nil
}

// extras finds the objects below the prefix that the manifest does not name.
func (v *verifying) extras(ctx context.Context) error {
	next, stop := iter.Pull2(v.Dataset.Records(ctx))
	defer stop()
	r, err, more := next()
	for o, listErr := range Objects(ctx, v.Dataset.bucket, v.Dataset.Prefix) {
		if listErr != nil {
			return listErr
		}
		for more && err == nil && r.Path < o.Path {
			r, err, more = next()
		}
		if err != nil {
			return err
		}
		if !(more && r.Path == o.Path) && (v.Wanted == nil || v.Wanted(o.Path, false)) {
			v.found.Extra.add(o.Path)
		}
	}
	return nil
}

// Objects yields what is below a prefix, with or without a manifest, in the order of paths, but not what a dataset says of
// itself. Of records it has path, size, time and version.
func Objects(ctx context.Context, bucket store.Store, prefix string) iter.Seq2[manifest.Record, error] {
	below := manifest.Key(prefix, "")
	return func(yield func(manifest.Record, error) bool) {
		for o, err := range bucket.List(ctx, below) {
			path := strings.TrimPrefix(o.Key, below)
			if err == nil && (path == "" || path == manifest.Dir || strings.HasPrefix(path, manifest.Dir+"/")) {
				continue
			}
			r := manifest.Record{Path: path, SizeBytes: o.SizeBytes, ModTime: o.Modified.UnixNano(), Mode: 0o644, Version: o.Version}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
