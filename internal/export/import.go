package export

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"golang.org/x/sync/errgroup"
)

// Import copies the objects below the rule's prefix whose files are missing, and says how many. A file appears whole
// and only if its content is right; its name, mode and time are those that were exported. Pointers come last, and only
// if all else came. Keys that are no paths below the directory are errors, but do not hold up the others.
func Import(ctx context.Context, rule Rule, s store.Store) (int, error) {
	objects, err := Objects(ctx, s, rule.Prefix, nil)
	if err != nil {
		return 0, err
	}
	dir, err := os.OpenRoot(rule.Dir)
	if err != nil {
		return 0, fmt.Errorf("import into %s: %w", rule.Dir, err)
	}
	defer dir.Close()
	in := importer{dir: dir, store: s, prefix: rule.Prefix, mount: rule.Mount}
	var data, pointers []store.Object
	for _, o := range objects {
		if pointerName(o.Key) {
			pointers = append(pointers, o)
			continue
		}
		data = append(data, o)
	}
	if err := in.all(ctx, data); err != nil {
		return int(in.done.Load()), err
	}
	err = in.all(ctx, pointers)
	return int(in.done.Load()), err
}

type importer struct {
	dir    *os.Root
	store  store.Store
	prefix string
	mount  string
	done   atomic.Int64
}

func (in *importer) all(ctx context.Context, objects []store.Object) error {
	var group errgroup.Group
	group.SetLimit(putsAtOnce)
	failures := make([]error, len(objects))
	for i, o := range objects {
		group.Go(func() error {
			if err := in.one(ctx, o); err != nil {
				failures[i] = fmt.Errorf("import %s: %w", o.Key, err)
			}
			return nil
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

func (in *importer) one(ctx context.Context, o store.Object) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	p := pathOf(in.prefix, o.Key)
	name := strings.TrimSuffix(p, "/")
	if !fs.ValidPath(name) || name == "." {
		return errors.New("the key is no path below the directory")
	}
	if p != name {
		return in.dir.MkdirAll(name, 0o755) // a directory's marker
	}
	if _, err := in.dir.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := in.dir.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(o.Key))
	beside := path.Join(path.Dir(name), fmt.Sprintf(".tmp-import-%x", sum[:8]))
	if err := in.fetch(ctx, o, beside); err != nil {
		return errors.Join(err, in.dir.RemoveAll(beside))
	}
	if err := in.dir.Rename(beside, name); err != nil {
		return err
	}
	in.done.Add(1)
	return in.sync(path.Dir(name))
}

// fetch makes the file of an object under a temporary name.
func (in *importer) fetch(ctx context.Context, o store.Object, name string) error {
	body, o, err := in.store.Get(ctx, o.Key)
	if err != nil {
		return err
	}
	defer body.Close()
	mode := uint32(0o644)
	if text, ok := o.Meta[metaMode]; ok {
		n, err := strconv.ParseUint(text, 8, 32)
		if err != nil {
			return fmt.Errorf("read the mode %q: %w", text, err)
		}
		mode = uint32(n)
	}
	if mode&syscall.S_IFMT == syscall.S_IFLNK {
		return in.link(body, o, name)
	}
	f, err := in.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, body)
	err = errors.Join(err, f.Chmod(fs.FileMode(mode&0o777)), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	at := modTime(o)
	return in.dir.Chtimes(name, at, at)
}

// link makes a symbolic link, if it stays in the directory.
func (in *importer) link(body io.Reader, o store.Object, name string) error {
	if o.SizeBytes > pointerBytes {
		return fmt.Errorf("a link of %d bytes is none", o.SizeBytes)
	}
	target, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	text, stays := linkText(in.mount, name, string(target))
	if !stays {
		return fmt.Errorf("the link leads to %q, outside of the directory", target)
	}
	if err := in.dir.RemoveAll(name); err != nil {
		return err
	}
	return in.dir.Symlink(text, name)
}

// modTime is when the file was written, or when the object was put if nobody said.
func modTime(o store.Object) time.Time {
	ns, err := strconv.ParseInt(strings.TrimSuffix(o.Meta[metaModTime], "ns"), 10, 64)
	if err != nil {
		return o.Modified
	}
	return time.Unix(0, ns)
}

func (in *importer) sync(dir string) error {
	f, err := in.dir.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
