// Package clean finds files that programs left behind, such as old *.tmp, and deletes
// them.
//
// Its law: nothing outside the roots, whatever others do meanwhile. No link is followed
// and no other mount entered. Each directory is opened by its name in the one above it,
// which is held open, and a file is deleted by its name in the directory that it was
// found in, if it is still that file. A directory that is moved away while it is read
// counts as where it was.
package clean

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Rule says which files go: ordinary ones.
type Rule struct {
	// Patterns are those of path.Match, one of which a file's name has.
	Patterns []string
	// Before is a time after which they were not changed.
	Before time.Time
}

// Check refuses patterns that no name can have.
func (r Rule) Check() error {
	for _, p := range r.Patterns {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("%q is no pattern: %w", p, err)
		}
		if p == "" || slices.Contains([]byte(p), '/') {
			return fmt.Errorf("%q is no pattern of a file's name, which has no slash", p)
		}
	}
	return nil
}

func (r Rule) names(name string) bool {
	return slices.ContainsFunc(r.Patterns, func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}

func (r Rule) old(s stat) bool { return s.ordinary && s.modified.Before(r.Before) }

// ErrMount says of a directory below a root that it is on another mount.
var ErrMount = errors.New("it is another mount, which is left as it is")

// ErrChanged says of a file that it is gone, or not the one any more that was found.
var ErrChanged = errors.New("it is gone or another one by now")

// File is one that was found. It is of use until the next one is asked for.
type File struct {
	Path      string
	SizeBytes int64
	Modified  time.Time

	name string
	is   id
	dir  *directory
	rule Rule
}

// Delete deletes the file. It returns ErrChanged, and deletes nothing, if there is
// another one or none by now.
func (f *File) Delete() error {
	now, err := f.dir.look(f.name)
	switch {
	case gone(err):
		return fmt.Errorf("delete %s: %w", f.Path, ErrChanged)
	case err != nil:
		return fmt.Errorf("delete %s: %w", f.Path, err)
	case now.id != f.is || !f.rule.old(now):
		return fmt.Errorf("delete %s: %w", f.Path, ErrChanged)
	}
	err = again(func() error { return unix.Unlinkat(f.dir.fd(), f.name, 0) })
	if gone(err) {
		err = ErrChanged
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", f.Path, err)
	}
	f.dir.less = true
	return nil
}

// Find yields the files below the roots that the rule is about, and what could not be
// looked at: after an error it goes on. Memory is needed for the directories of one path.
// seen is told of each entry; it may be nil.
func Find(ctx context.Context, roots []Root, rule Rule, seen func()) iter.Seq2[*File, error] {
	if seen == nil {
		seen = func() {}
	}
	return func(yield func(*File, error) bool) {
		w := &walk{roots: roots, rule: rule, seen: seen, yield: yield}
		for _, r := range roots {
			if !w.root(ctx, r) {
				return
			}
		}
	}
}

// walk is one call of Find. Its methods are false when it is to end.
type walk struct {
	roots []Root
	rule  Rule
	seen  func()
	yield func(*File, error) bool
	// mount is that of the root.
	mount mount
}

func (w *walk) fail(err error) bool { return w.yield(nil, err) }

func (w *walk) root(ctx context.Context, r Root) bool {
	d, err := r.open()
	if err != nil {
		return w.fail(err)
	}
	w.mount = d.at
	return w.directory(ctx, d)
}

// directory walks one and closes it: first what is below it, then its own files if there
// are some of fitting names, as often as one of them is deleted. Some file systems pass
// over entries when others are deleted while a directory is read.
func (w *walk) directory(ctx context.Context, d *directory) bool {
	defer d.file.Close()
	named := false
	goOn := w.entries(ctx, d, func(e fs.DirEntry) bool {
		w.seen()
		named = named || w.names(e)
		return !e.IsDir() || w.below(ctx, d, e.Name())
	})
	for d.less = named; d.less && goOn; {
		d.less = false
		if _, err := d.file.Seek(0, io.SeekStart); err != nil {
			return w.fail(fmt.Errorf("read directory %s again: %w", d.path, whole.Cause(err)))
		}
		goOn = w.entries(ctx, d, func(e fs.DirEntry) bool { return !w.names(e) || w.file(d, e.Name()) })
	}
	return goOn
}

// names tells whether an entry is a file that the rule may be about.
func (w *walk) names(e fs.DirEntry) bool { return e.Type().IsRegular() && w.rule.names(e.Name()) }

// batch is how many entries of a directory are read at once.
const batch = 1024

// entries calls each for the entries of a directory, as long as it is true.
func (w *walk) entries(ctx context.Context, d *directory, each func(fs.DirEntry) bool) bool {
	for {
		if ctx.Err() != nil {
			w.fail(context.Cause(ctx))
			return false
		}
		entries, err := d.file.ReadDir(batch)
		for _, e := range entries {
			if !each(e) {
				return false
			}
		}
		switch {
		case err == io.EOF || gone(err):
			return true
		case err != nil:
			return w.fail(fmt.Errorf("read directory %s: %w", d.path, whole.Cause(err)))
		}
	}
}

// below walks a directory of a directory, unless it is walked as a root.
func (w *walk) below(ctx context.Context, d *directory, name string) bool {
	sub, err := d.open(name)
	if gone(err) {
		return true
	}
	if err != nil {
		return w.fail(err)
	}
	if sub.at != w.mount {
		sub.file.Close()
		return w.fail(fmt.Errorf("look into %s: %w", sub.path, ErrMount))
	}
	if slices.ContainsFunc(w.roots, func(r Root) bool { return r.is == sub.is && r.at == sub.at }) {
		sub.file.Close()
		return true
	}
	return w.directory(ctx, sub)
}

func (w *walk) file(d *directory, name string) bool {
	s, err := d.look(name)
	if gone(err) {
		return true
	}
	file := path.Join(d.path, name)
	if err != nil {
		return w.fail(fmt.Errorf("look at %s: %w", file, err))
	}
	if !w.rule.old(s) {
		return true
	}
	return w.yield(&File{Path: file, SizeBytes: s.size, Modified: s.modified, name: name, is: s.id, dir: d, rule: w.rule}, nil)
}
