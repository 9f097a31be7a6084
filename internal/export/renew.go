package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// renewed is the tree after these paths changed, directories (true) with all below them. Only they are looked at.
func (t Tree) renewed(rule Rule, changed map[string]bool) (Tree, error) {
	r, err := rule.open()
	if err != nil {
		return Tree{}, fmt.Errorf("look at %s: %w", rule.Dir, err)
	}
	defer r.Close()
	whole := map[string]bool{}
	for p, isDir := range changed {
		if _, was := t.Dirs[p]; was || isDir {
			whole[p] = true
		}
	}
	fresh := newTree(t.mount)
	fresh.home = t.home
	for p := range changed {
		if err := fresh.look(r, p, whole); err != nil {
			return Tree{}, fmt.Errorf("look at %s in %s: %w", p, rule.Dir, err)
		}
	}
	if err := fresh.readPointers(r); err != nil {
		return Tree{}, fmt.Errorf("look at %s: %w", rule.Dir, err)
	}
	return t.with(fresh, changed, whole), nil
}

// look adds what is there of a changed path, and how the directory is now that it is in.
func (t *Tree) look(r *os.Root, p string, whole map[string]bool) error {
	if inAny(whole, path.Dir(p)) {
		return nil // a directory above it is looked at
	}
	if err := t.lookAt(r, path.Dir(p)); err != nil {
		return err
	}
	if !whole[p] {
		return t.lookAt(r, p)
	}
	return fs.WalkDir(r.FS(), p, func(path string, d fs.DirEntry, err error) error {
		return t.visit(r, path, d, err)
	})
}

// lookAt adds one path without what is below it.
func (t *Tree) lookAt(r *os.Root, p string) error {
	info, err := r.Lstat(p)
	if err != nil {
		return present(err)
	}
	return present(t.add(r, p, fs.FileInfoToDirEntry(info)))
}

// present passes over paths that are gone.
func present(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}

// inAny says that a directory is one of these, or below one.
func inAny(dirs map[string]bool, p string) bool {
	for ; len(dirs) > 0 && p != "."; p = path.Dir(p) {
		if dirs[p] {
			return true
		}
	}
	return false
}

// with is the tree with what changed.
func (t Tree) with(fresh Tree, changed, whole map[string]bool) Tree {
	out := Tree{Dirs: maps.Clone(t.Dirs), Shut: maps.Clone(t.Shut), Odd: maps.Clone(t.Odd), mount: t.mount, home: t.home}
	out.Files = make([]File, 0, len(t.Files)+len(fresh.Files))
	maps.DeleteFunc(out.Dirs, func(p string, _ Dir) bool { return inAny(whole, p) })
	maps.Copy(out.Dirs, fresh.Dirs)
	maps.DeleteFunc(out.Shut, func(p string, _ string) bool { return inAny(whole, p) })
	maps.Copy(out.Shut, fresh.Shut)
	maps.DeleteFunc(out.Odd, func(p string, _ string) bool {
		_, again := changed[p]
		return again || inAny(whole, path.Dir(p))
	})
	maps.Copy(out.Odd, fresh.Odd)
	for _, f := range t.Files {
		if _, again := changed[f.Path]; !again && !inAny(whole, path.Dir(f.Path)) {
			out.Files = append(out.Files, f)
		}
	}
	out.Files = append(out.Files, fresh.Files...)
	slices.SortFunc(out.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// renew looks at the objects of these keys again, directories (true) with all below them.
func (l look) renew(ctx context.Context, objects map[string]object, changed map[string]bool) error {
	var mu sync.Mutex // guards objects
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(looksAtOnce)
	for k, isDir := range changed {
		if isDir {
			found, err := l.listed(ctx, k+"/", nil)
			if err != nil {
				return errors.Join(err, group.Wait())
			}
			mu.Lock()
			maps.DeleteFunc(objects, func(p string, _ object) bool { return strings.HasPrefix(key(l.prefix, p), k+"/") })
			maps.Copy(objects, found)
			mu.Unlock()
		}
		if p, ok := within(l.prefix, k); ok {
			group.Go(func() error { return l.one(ctx, objects, &mu, p) })
		}
	}
	return group.Wait()
}
