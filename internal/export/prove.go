package export

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/muster-hpc/muster/internal/store"
	"golang.org/x/sync/errgroup"
)

// Proof says of files whether the bucket has their content. Names are paths below the directory.
type Proof struct {
	Proven     int
	SizeBytes  int64    // of the proven files
	Changed    int      // files that are others by now, or gone: later rounds see to them
	LeftAlone  int      // files that the rule leaves as the bucket has them
	Missing    []string // files without an object
	Different  []string // files whose object has other content
	Unreadable []string // files that cannot be read
}

// OK says that the bucket has all that was to be proven.
func (p Proof) OK() bool {
	return len(p.Missing) == 0 && len(p.Different) == 0 && len(p.Unreadable) == 0
}

// Wanted are the files of a rule's directory that an export brings to the bucket, of those that are this path or lie
// below it, and what of these no export can bring: pipes and the like, and directories that may not be read. Of "." it is
// all.
func Wanted(rule Rule, at string) ([]File, []Wait, error) {
	tree, err := Scan(rule)
	if err != nil {
		return nil, nil, err
	}
	files := slices.DeleteFunc(tree.Files, func(f File) bool { return temporary(f.Path) || !meant(f.Path, at) })
	return files, slices.DeleteFunc(tree.barred(rule), func(w Wait) bool { return !meant(strings.TrimSuffix(w.Path, "/"), at) }), nil
}

// meant says that a file is a path or lies below it.
func meant(p, at string) bool { return at == "." || p == at || below(p, at) }

// PathOf is the file of a key.
func (r Rule) PathOf(key string) string { return pathOf(r.Prefix, key) }

// Prove reads files and holds them against what the bucket says of its objects: the checksums that it took from every
// byte when it got them. Only objects without one are read.
func Prove(ctx context.Context, rule Rule, s store.Store, files []File) (Proof, error) {
	root, err := rule.open()
	if err != nil {
		return Proof{}, err
	}
	defer root.Close()
	pr := proving{rule: rule, store: s, root: root}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(putsAtOnce)
	for _, f := range files {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error {
			stand, err := pr.one(inner, f)
			if err == nil {
				pr.note(f, stand)
			}
			return err
		})
	}
	err = group.Wait()
	slices.Sort(pr.proof.Missing)
	slices.Sort(pr.proof.Different)
	slices.Sort(pr.proof.Unreadable)
	return pr.proof, errors.Join(err, context.Cause(ctx))
}

// proving is a proof on its way.
type proving struct {
	rule  Rule
	store store.Store
	root  *os.Root

	mu    sync.Mutex // guards what follows
	proof Proof
}

// proven is what came of one file.
type proven int8

const (
	isProven proven = iota
	isChanged
	isMissing
	isDifferent
	isUnreadable
)

func (p *proving) note(f File, stand proven) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case stand == isProven:
		p.proof.Proven++
		p.proof.SizeBytes += f.SizeBytes
	case stand == isChanged:
		p.proof.Changed++
	case stand == isMissing && !p.rule.New, stand == isDifferent && !p.rule.Changed:
		p.proof.LeftAlone++
	case stand == isMissing:
		p.proof.Missing = append(p.proof.Missing, f.Path)
	case stand == isDifferent:
		p.proof.Different = append(p.proof.Different, f.Path)
	case stand == isUnreadable:
		p.proof.Unreadable = append(p.proof.Unreadable, f.Path)
	}
}

// one holds one file against its object. Errors are of the place.
func (p *proving) one(ctx context.Context, f File) (proven, error) {
	sums, stand := p.sums(f)
	if stand != isProven {
		return stand, nil
	}
	k := key(p.rule.Prefix, f.Path)
	o, err := p.store.Head(ctx, k)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return isMissing, nil
	case err != nil:
		return 0, err
	case o.SHA256 == "" && o.CRC64NVME == "":
		return p.read(ctx, f, k)
	case (o.SHA256 == "" || o.SHA256 == sums.SHA256) && (o.CRC64NVME == "" || o.CRC64NVME == sums.CRC64NVME):
		return isProven, nil
	}
	return isDifferent, nil
}

// sums reads a file that is as it was.
func (p *proving) sums(f File) (store.Sums, proven) {
	if f.Link != "" {
		if target, err := p.root.Readlink(f.Path); err != nil || target != f.Target {
			return store.Sums{}, isChanged
		}
		sums, err := store.Sum(strings.NewReader(f.Link), f.SizeBytes)
		if err != nil {
			return sums, isUnreadable
		}
		return sums, isProven
	}
	in, err := p.root.OpenFile(f.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO):
		return store.Sums{}, isChanged
	case err != nil:
		return store.Sums{}, isUnreadable
	}
	defer in.Close()
	sums, err := reading{in, f, &Track{}}.sums()
	info, statErr := in.Stat()
	switch {
	case statErr == nil && !unchanged(described(f.Path, info), f):
		return sums, isChanged
	case errors.Join(err, statErr) != nil:
		return sums, isUnreadable
	}
	return sums, isProven
}

// read compares a file with an object of which no checksum is kept.
func (p *proving) read(ctx context.Context, f File, k string) (proven, error) {
	same, err := sameContent(ctx, p.root, f, p.store, k)
	if err != nil || same {
		return isProven, err
	}
	return isDifferent, nil
}

// Left are the files that still wait after the last round, by path, and those that cannot be exported, and why.
func (t *Track) Left() (waiting map[string]bool, blocked map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting, blocked = map[string]bool{}, map[string]string{}
	for _, w := range t.progress.Blocked {
		blocked[w.Path] = w.Reason
	}
	for _, s := range t.plan.Puts {
		if _, no := blocked[s.File.Path]; !no && !t.done[s.Key] {
			waiting[s.File.Path] = true
		}
	}
	for _, w := range t.plan.Waits {
		waiting[w.Path] = true
	}
	return waiting, blocked
}
