package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"golang.org/x/sync/errgroup"
)

// Report compares a directory with a bucket. Names are paths below the directory.
type Report struct {
	Matched   int      // files whose objects were read back and have the same SHA-256
	Missing   []string // files without an object
	Different []string // files whose object has other content, or damaged content
	Extra     []string // objects without a file
}

// OK says that the bucket holds what the directory holds, and nothing else.
func (r Report) OK() bool {
	return len(r.Missing) == 0 && len(r.Different) == 0 && len(r.Extra) == 0
}

// Verify reads every object below the rule's prefix and every file of its directory, and compares their SHA-256.
// Temporary files do not count, nor do checkpoints that the rule does not keep. What changes meanwhile is different.
func Verify(ctx context.Context, rule Rule, s store.Store) (Report, error) {
	root, prefix := rule.Dir, rule.Prefix
	tree, err := Scan(rule)
	if err != nil {
		return Report{}, err
	}
	dir, err := rule.open()
	if err != nil {
		return Report{}, fmt.Errorf("verify %s: %w", root, err)
	}
	defer dir.Close()
	extra, objects, err := inBucket(ctx, rule, s)
	if err != nil {
		return Report{}, err
	}
	gone := expiredIn(rule, tree, objects, time.Now())
	var report Report
	var mu sync.Mutex // guards Matched and Different
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(putsAtOnce)
	for _, f := range tree.Files {
		if temporary(f.Path) {
			continue
		}
		k := key(prefix, f.Path)
		if _, expired := gone(f.Path); expired && !extra[k] {
			continue
		}
		if !extra[k] {
			report.Missing = append(report.Missing, f.Path)
			continue
		}
		delete(extra, k)
		group.Go(func() error {
			same, err := sameContent(ctx, dir, f, s, k)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				return err
			case same:
				report.Matched++
			default:
				report.Different = append(report.Different, f.Path)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Report{}, fmt.Errorf("verify %s: %w", root, err)
	}
	for k := range extra {
		report.Extra = append(report.Extra, pathOf(prefix, k))
	}
	slices.Sort(report.Different)
	slices.Sort(report.Extra)
	return report, nil
}

// inBucket are the keys of the bucket, and what the keeping of checkpoints needs to know of the objects.
func inBucket(ctx context.Context, rule Rule, s store.Store) (map[string]bool, map[string]object, error) {
	keys, objects := map[string]bool{}, map[string]object{}
	for o, err := range s.List(ctx, key(rule.Prefix, "")) {
		if err != nil {
			return nil, nil, err
		}
		keys[o.Key] = true
		if !rule.Keep.All() {
			objects[pathOf(rule.Prefix, o.Key)] = lean(o)
		}
	}
	return keys, objects, nil
}

// sameContent reads a file and its object. Damage of either makes them differ; other errors are returned.
func sameContent(ctx context.Context, dir *os.Root, f File, s store.Store, key string) (bool, error) {
	mine := sha256.New()
	if f.Link != "" {
		io.WriteString(mine, f.Link)
	} else if err := hashFile(mine, dir, f.Path); err != nil {
		return false, err
	}
	body, _, err := s.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer body.Close()
	theirs := sha256.New()
	if _, err := io.Copy(theirs, body); err != nil {
		if errors.Is(err, store.ErrChecksum) {
			return false, nil
		}
		return false, err
	}
	return hex.EncodeToString(mine.Sum(nil)) == hex.EncodeToString(theirs.Sum(nil)), nil
}

func hashFile(w io.Writer, dir *os.Root, path string) error {
	in, err := dir.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // no waiting where a pipe took its place
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}
