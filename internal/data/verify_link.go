package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/data/walk"
	"github.com/muster-hpc/muster/internal/store"
)

// mostTarget is how long what a link leads to may be, in bytes.
const mostTarget = 4096

// exported says whether an object is a symbolic link that an export put: its content is what the link leads to.
func exported(o store.Object) bool {
	mode, err := strconv.ParseUint(o.Meta["file-permissions"], 8, 32)
	return err == nil && mode&syscall.S_IFMT == syscall.S_IFLNK
}

// root is what paths lie in.
func (c *comparing) root() string {
	if c.single {
		return filepath.Dir(c.Dir)
	}
	return c.Dir
}

// at is where a path of the bucket is in the directory.
func (c *comparing) at(path string) string { return filepath.Join(c.root(), filepath.FromSlash(path)) }

// isLink says whether there is a symbolic link that an export may have put as one. Pushes put what links lead to, and one
// file that is named is meant as what it leads to.
func (c *comparing) isLink(path string) bool {
	if c.Dataset != nil || c.single {
		return false
	}
	info, err := os.Lstat(c.at(path))
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

// enters says whether the walk takes a path up. A link to a directory that is a link in the bucket, too, is no directory.
func (c *comparing) enters(ctx context.Context, path string, dir bool) bool {
	if c.Wanted != nil && !c.Wanted(path, dir) {
		return false
	}
	if !dir || !c.isLink(path) {
		return true
	}
	o, err := c.Bucket.Head(ctx, manifest.Key(c.Prefix, path))
	return err != nil || !exported(o)
}

// alone is an object for which the walk has no file: it has none, or it is a link whose target is none, for which why may say it.
func (c *comparing) alone(ctx context.Context, r manifest.Record, why error) error {
	if !c.isLink(r.Path) {
		if why != nil {
			c.differ(r.Path, why)
		} else {
			c.lone(r.Path, &c.found.Extra)
		}
		return nil
	}
	is, err := c.sameLink(ctx, r)
	if err == nil && !is {
		err = flaw{errors.New("it is a link, and its object is none")}
		if why != nil {
			err = flaw{why}
		}
	}
	return c.judged(ctx, walk.File{Path: r.Path, SizeBytes: r.SizeBytes}, true, err)
}

// sameLink compares what a link leads to with the content of its object, if that is a link.
func (c *comparing) sameLink(ctx context.Context, r manifest.Record) (is bool, err error) {
	key := manifest.Key(c.Prefix, r.Path)
	o, err := c.Bucket.Head(ctx, key)
	if err != nil || !exported(o) {
		return false, err
	}
	target, err := os.Readlink(c.at(r.Path))
	if err != nil {
		return true, err
	}
	body, _, err := c.Bucket.Get(ctx, key)
	if err != nil {
		return true, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, mostTarget))
	if err != nil {
		return true, err
	}
	if !c.sameTarget(r.Path, target, string(text)) {
		return true, flaw{fmt.Errorf("it is a link to %s, and in the bucket one to %s", target, text)}
	}
	return true, nil
}

// sameTarget says whether a link's target is the exported one. Exports write an absolute target below the directory's
// mount as relative to the link, so that it means the same file wherever the directory is mounted.
func (c *comparing) sameTarget(at, target, text string) bool {
	if target == text {
		return true
	}
	if !path.IsAbs(target) || path.IsAbs(text) {
		return false
	}
	below := path.Join(path.Dir(at), text)
	if fs.ValidPath(below) {
		return below == "." || strings.HasSuffix(target, "/"+below)
	}
	dir, err := filepath.Abs(c.root())
	return err == nil && filepath.Join(dir, filepath.FromSlash(below)) == target
}
