package controller

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/export"
)

// errNoExport is the error of a directory that goes to no bucket.
var errNoExport = errors.New("no export has it")

// within are the links that export something of a directory of the cluster's machines, with the part of each that
// is meant. Of "" it is all of all.
func (e *Exports) within(dir string) (map[*link]string, error) {
	found := map[*link]string{}
	var have []string
	for _, l := range e.links {
		if !l.exports() {
			continue
		}
		have = append(have, l.Path)
		switch {
		case dir == "" || below(l.Path, dir):
			found[l] = "."
		case below(dir, l.Path):
			found[l] = strings.TrimPrefix(strings.TrimPrefix(dir, l.Path), "/")
		}
	}
	if dir != "" && len(found) == 0 {
		slices.Sort(have)
		return nil, fmt.Errorf("%s: %w; exported: %s", dir, errNoExport, strings.Join(have, ", "))
	}
	return found, nil
}

// below says that a path is a directory or lies in it.
func below(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// Await returns when all files that there are now in a directory are in their buckets, or cannot be, and says what the
// buckets have of them. What comes later it does not wait for.
func (e *Exports) Await(ctx context.Context, dir string) ([]client.Awaited, error) {
	if dir != "" {
		dir = path.Clean(dir)
	}
	links, err := e.within(dir)
	if err != nil {
		return nil, err
	}
	var all []client.Awaited
	var errs []error
	var mu sync.Mutex // guards all and errs
	var group sync.WaitGroup
	for l, at := range links {
		group.Go(func() {
			a, err := l.await(ctx, at)
			mu.Lock()
			defer mu.Unlock()
			all, errs = append(all, a), append(errs, err)
		})
	}
	group.Wait()
	slices.SortStableFunc(all, func(a, b client.Awaited) int { return strings.Compare(a.Path, b.Path) })
	return all, errors.Join(errs...)
}

// await exports what there is now at a path below the directory, and proves it.
func (l *link) await(ctx context.Context, at string) (client.Awaited, error) {
	a := client.Awaited{Path: l.Path, Bucket: l.Rule.Bucket, Prefix: l.Rule.Prefix}
	files, barred, err := export.Wanted(l.Rule, at)
	if err != nil {
		return a, err
	}
	for _, f := range files {
		a.Files++
		a.SizeBytes += f.SizeBytes
	}
	blocked, err := l.settle(ctx, files)
	if err != nil {
		return a, fmt.Errorf("export %s: %w", l.Path, err)
	}
	var due []export.File
	for _, f := range files {
		switch why, no := blocked[f.Path]; {
		case no:
			barred = append(barred, export.Wait{Path: f.Path, SizeBytes: f.SizeBytes, Reason: why})
		case l.mirror.Track.Expired(f.Path):
			a.LeftAlone++
		default:
			due = append(due, f)
		}
	}
	a.Blocked, a.BlockedFiles = len(barred), named(barred[:min(namedAtMost, len(barred))])
	bucket, err := l.bucket(ctx)
	if err != nil {
		return a, err
	}
	proof, err := export.Prove(ctx, l.Rule, bucket, due)
	if err != nil {
		return a, fmt.Errorf("verify %s: %w", l.Path, err)
	}
	a.Verified, a.Changed, a.LeftAlone = proof.Proven, proof.Changed, a.LeftAlone+proof.LeftAlone
	a.Missing, a.Different, a.Unreadable = printable(proof.Missing), printable(proof.Different), printable(proof.Unreadable)
	return a, nil
}

func printable(names []string) []string {
	for i, n := range names {
		names[i] = printableName(n)
	}
	return names
}

// settle runs rounds until none of the files waits any more, and returns those that cannot be exported. A file that was
// exported once since is done: it may be written on for ever.
func (l *link) settle(ctx context.Context, files []export.File) (map[string]string, error) {
	left := map[string]bool{}
	for _, f := range files {
		left[f.Path] = true
	}
	tick := time.NewTicker(exportSoon / 4)
	defer tick.Stop()
	l.lookAgain()
	var trouble error // of the last round that ended by itself
	for {
		result, err := l.last(ctx)
		if ctx.Err() == nil {
			trouble = err
		}
		for k := range result.Objects {
			delete(left, l.Rule.PathOf(k))
		}
		if err == nil {
			blocked := l.strike(left)
			if len(blocked) == len(left) {
				return blocked, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(trouble, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// strike takes off what does not wait any more, and returns what of the rest cannot be exported.
func (l *link) strike(left map[string]bool) map[string]string {
	waiting, cannot := l.mirror.Track.Left()
	blocked := map[string]string{}
	for p := range left {
		why, no := cannot[p]
		switch {
		case no:
			blocked[p] = why
		case !waiting[p]:
			delete(left, p)
		}
	}
	return blocked
}
