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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
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

	mu      sync.Mutex // guards what follows
	result  Imported
	missing []string // paths that did not come
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

func (in *importer) data(ctx context.Context, all []fetch) {
	var group errgroup.Group
	group.SetLimit(putsAtOnce)
	for _, f := range all {
		group.Go(func() error {
			in.try(ctx, f)
			return nil
		})
	}
	group.Wait()
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
	beside := beside(in.key(f), path.Dir(name))
	o, err := in.fetch(ctx, f, beside)
	if err == nil && pointerName(name) {
		err = in.mayName(name, beside)
	}
	if err == nil {
		err = in.place(f, beside)
	}
	if err != nil {
		return errors.Join(err, in.dir.RemoveAll(beside))
	}
	info, err := in.dir.Lstat(name)
	if err != nil {
		return err
	}
	in.record.agree(f.Path, agreement(described(name, info), lean(o)))
	return in.sync(path.Dir(name))
}

// beside is the temporary name of an object's file.
func beside(key, dir string) string {
	sum := sha256.Sum256([]byte(key))
	return path.Join(dir, fmt.Sprintf(".tmp-import-%x", sum[:8]))
}

// left is what an import leaves that was killed.
var left = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.tmp-import-[0-9a-f]{16}$`) })

// fetch makes the file of an object under a temporary name, with the owner, the mode and the time that it had when it
// was exported. What the object does not say stays as it is with the file that it replaces.
func (in *importer) fetch(ctx context.Context, f fetch, name string) (store.Object, error) {
	body, o, err := in.store.Get(ctx, in.key(f))
	if err != nil {
		return o, err
	}
	defer body.Close()
	about, err := in.about(f, o)
	if err != nil {
		return o, err
	}
	if about.Mode&syscall.S_IFMT == syscall.S_IFLNK {
		return o, in.link(body, o, f.Path, name)
	}
	w, err := in.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return o, err
	}
	_, err = io.Copy(w, body)
	_ = w.Chown(int(about.UID), int(about.GID)) // only root may, and not with all numbers
	err = errors.Join(err, w.Chmod(fs.FileMode(about.Mode&0o777)), w.Sync(), w.Close())
	if err != nil {
		return o, err
	}
	return o, in.dir.Chtimes(name, about.ModTime.time(), about.ModTime.time())
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

// link makes a symbolic link, if it stays in the directory.
func (in *importer) link(body io.Reader, o store.Object, at, name string) error {
	if o.SizeBytes > pointerBytes {
		return fmt.Errorf("a link of %d bytes is none", o.SizeBytes)
	}
	target, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	text, stays := linkText(in.rule.Mount, at, string(target))
	if !stays {
		return fmt.Errorf("the link leads to %q, outside of the directory", target)
	}
	if err := in.dir.RemoveAll(name); err != nil {
		return err
	}
	return in.dir.Symlink(text, name)
}

// place gives a file its name, if nothing happened there since the look.
func (in *importer) place(f fetch, beside string) error {
	if f.Over != nil {
		return in.alone(*f.Over, func() error { return in.dir.Rename(beside, f.Path) })
	}
	there, err := in.file(f.Path)
	switch {
	case err != nil:
		return err
	case there:
		return errBusy // it just came; the next look decides
	}
	return in.appear(beside, f.Path)
}

// appear renames a file where there is none. A file that comes in this moment stays.
func (in *importer) appear(beside, name string) error {
	dir, err := in.directory(path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	at := int(dir.Fd())
	err = unix.Renameat2(at, path.Base(beside), at, path.Base(name), unix.RENAME_NOREPLACE)
	switch {
	case errors.Is(err, fs.ErrExist):
		return errBusy
	case errors.Is(err, syscall.EINVAL): // a file system without it
		return in.dir.Rename(beside, name)
	}
	return err
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
	err := in.alone(f, func() error { return in.dir.Remove(f.Path) })
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

func (in *importer) sync(dir string) error {
	f, err := in.directory(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// directory opens a directory, without waiting where a pipe took its place.
func (in *importer) directory(name string) (*os.File, error) {
	return in.dir.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
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
