package export

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/pattern"
	"github.com/muster-hpc/muster/internal/sys/whole"
	"golang.org/x/sync/errgroup"
)

// Imported is what a round brought from the bucket. What fails hinders nothing else, but a pointer to it.
type Imported struct {
	Files   int      // came, or were replaced
	Removed int      // went, because their objects did
	Waiting int      // for the end of a write, or for what a pointer names
	Both    []string // files that were changed here and in the bucket; they stayed
	Failed  []error  // what did not come, by name
}

// did says that the directory is not as it was seen any more.
func (i Imported) did() bool { return cmp.Or(i.Files, i.Removed) > 0 }

// importer makes a plan true.
type importer struct {
	dir    *os.Root
	rule   Rule
	store  store.Store
	record *Record
	later  *retries
	now    time.Time

	mu         sync.Mutex // guards what follows
	result     Imported
	missing    []string // paths that did not come
	sideBySide bool     // others are being written
	crowded    []fetch  // had no room beside them
}

var errBusy = errors.New("it is being written")

func (in *importer) key(f fetch) string { return key(in.rule.Prefix, f.Path) }

// bring makes the plan true: files side by side, then pointers, each only if all that it names is there, and what is to
// go last. It may be cut off anywhere.
func (in *importer) bring(ctx context.Context, p mergePlan) Imported {
	var data, pointers []fetch
	for _, f := range p.Fetch {
		if pointerName(f.Path) {
			pointers = append(pointers, f)
			continue
		}
		data = append(data, f)
	}
	in.data(ctx, data)
	for _, f := range inOrder(pointers) {
		in.try(ctx, f)
	}
	for _, f := range p.Remove {
		in.remove(ctx, f)
	}
	in.result.Both = p.Both
	slices.SortFunc(in.result.Failed, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return in.result
}

// data brings files side by side. What has no room is tried again alone, the smallest first: a file that can never fit
// takes, until it fails, what is enough for others.
func (in *importer) data(ctx context.Context, all []fetch) {
	in.sideBySide = true
	var group errgroup.Group
	group.SetLimit(putsAtOnce)
	for _, f := range all {
		group.Go(func() error {
			in.try(ctx, f)
			return nil
		})
	}
	group.Wait()
	in.sideBySide = false
	slices.SortFunc(in.crowded, func(a, b fetch) int {
		return cmp.Or(cmp.Compare(a.Object.SizeBytes, b.Object.SizeBytes), strings.Compare(a.Path, b.Path))
	})
	for _, f := range in.crowded {
		in.try(ctx, f)
	}
}

// inOrder puts pointers behind those that they may name: of directories below, and of longer names.
func inOrder(all []fetch) []fetch {
	slices.SortFunc(all, func(a, b fetch) int {
		return cmp.Or(cmp.Compare(strings.Count(b.Path, "/"), strings.Count(a.Path, "/")), strings.Compare(b.Path, a.Path))
	})
	return all
}

// try brings one object, unless it failed just now, and keeps account of it.
func (in *importer) try(ctx context.Context, f fetch) {
	if ctx.Err() != nil {
		return
	}
	err := in.due(f)
	if err == nil {
		if err = in.one(ctx, f); err == nil {
			in.came(f)
			return
		}
		if whole.NoRoom(err) != nil && in.waitsForRoom(f) {
			return
		}
		if ctx.Err() == nil && !errors.Is(err, errBusy) {
			in.later.failed(f.Path, f.Object.Version, in.now, err)
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.missing = append(in.missing, f.Path)
	if errors.Is(err, errBusy) {
		in.result.Waiting++
		return
	}
	if ctx.Err() == nil {
		in.result.Failed = append(in.result.Failed, fmt.Errorf("import %s: %w", in.key(f), err))
	}
}

// waitsForRoom keeps an object for when no other is being written.
func (in *importer) waitsForRoom(f fetch) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.sideBySide {
		in.crowded = append(in.crowded, f)
	}
	return in.sideBySide
}

func (in *importer) came(f fetch) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !strings.HasSuffix(f.Path, "/") {
		in.result.Files++
	}
}

func (in *importer) one(ctx context.Context, f fetch) error {
	name := strings.TrimSuffix(f.Path, "/")
	if name != f.Path { // a directory's marker
		in.record.agree(f.Path, agreement(File{Path: f.Path}, f.Object))
		return nil
	}
	at, err := in.made(path.Dir(name))
	if err != nil {
		return err
	}
	defer at.Close()
	beside := beside(in.key(f))
	o, err := in.fetch(ctx, f, at, beside)
	if err == nil && pointerName(name) {
		err = in.mayName(name, at, beside)
	}
	if err == nil {
		err = place(f, at, beside)
	}
	if err != nil {
		return errors.Join(err, at.RemoveAll(beside))
	}
	info, err := at.Lstat(path.Base(name))
	if err != nil {
		return err
	}
	in.record.agree(f.Path, agreement(described(name, info), lean(o)))
	return syncDir(at)
}

// beside is the temporary name of an object's file.
func beside(key string) string {
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf(".tmp-import-%x", sum[:8])
}

// left is what an import leaves that was killed.
var left = pattern.New(`^\.tmp-import-[0-9a-f]{16}$`)

// fetch makes the file of an object under a temporary name, with the owner, the mode and the time that it had when it
// was exported. What the object does not say stays as it is with the file that it replaces.
func (in *importer) fetch(ctx context.Context, f fetch, at *os.Root, name string) (store.Object, error) {
	body, o, err := in.store.Get(ctx, in.key(f))
	if err != nil {
		return o, err
	}
	defer body.Close()
	about, err := in.about(f, o)
	if err != nil {
		return o, err
	}
	if err := at.RemoveAll(name); err != nil { // of an import that was killed, or planted
		return o, err
	}
	if about.Mode&syscall.S_IFMT == syscall.S_IFLNK {
		return o, in.link(body, o, f.Path, at, name)
	}
	w, err := at.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return o, err
	}
	_, err = io.Copy(w, body)
	_ = w.Chown(int(about.UID), int(about.GID)) // only root may, and not with all numbers
	err = errors.Join(err, w.Chmod(fs.FileMode(about.Mode&0o777)), date(w, about.ModTime), w.Sync(), w.Close())
	return o, err
}

// about says what a file of an object is to be like.
func (in *importer) about(f fetch, o store.Object) (File, error) {
	file := File{Mode: 0o644, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	if f.Over != nil && f.Over.Link == "" {
		file.Mode, file.UID, file.GID = f.Over.Mode, f.Over.UID, f.Over.GID
	}
	file.ModTime = stampOf(modTime(o))
	for _, m := range []struct {
		key  string
		base int
		into *uint32
	}{{metaMode, 8, &file.Mode}, {metaOwner, 10, &file.UID}, {metaGroup, 10, &file.GID}} {
		text, ok := o.Meta[m.key]
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(text, m.base, 32)
		if err != nil {
			return file, fmt.Errorf("read %s %q: %w", m.key, text, err)
		}
		*m.into = uint32(n)
	}
	return file, nil
}

// remove deletes a file whose object is gone, unless something next to it did not come: it may be what a pointer names
// that is still the old one.
func (in *importer) remove(ctx context.Context, f File) {
	if ctx.Err() != nil {
		return
	}
	for _, p := range in.missing {
		if pointerName(p) && below(f.Path, path.Dir(p)) {
			in.result.Waiting++
			return
		}
	}
	err := in.drop(f)
	switch {
	case errors.Is(err, errBusy):
		in.result.Waiting++
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		in.result.Failed = append(in.result.Failed, fmt.Errorf("delete %s, whose object is gone: %w", f.Path, err))
	default:
		in.record.forget(f.Path)
		in.result.Removed++
	}
}

// drop removes a file that is as it was seen.
func (in *importer) drop(f File) error {
	at, err := in.opened(path.Dir(f.Path))
	if err != nil {
		return err
	}
	defer at.Close()
	return alone(f, at, func() error { return at.Remove(path.Base(f.Path)) })
}

// sweep removes what killed imports left, if it was not written for some time.
func sweep(rule Rule, t Tree, since time.Time) error {
	var errs []error
	for _, f := range t.Files {
		if left().MatchString(path.Base(f.Path)) && f.ModTime < stampOf(since) {
			errs = append(errs, removeBelow(rule, f.Path))
		}
	}
	return errors.Join(errs...)
}

func removeBelow(rule Rule, name string) error {
	dir, err := rule.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what an import left: %w", err)
	}
	return nil
}
