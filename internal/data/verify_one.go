package data

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/data/walk"
	"github.com/muster-hpc/muster/internal/store"
)

// One compares one ordinary file with its object, by what the bucket's place says of that: for who finds the files himself
// and has no manifest. Of an unread file the size alone counts. A file that is gone is none.
func (c *Compare) One(ctx context.Context, path string, unread bool) (Compared, error) {
	run := &comparing{Compare: c}
	info, err := os.Lstat(run.at(path))
	if errors.Is(err, fs.ErrNotExist) {
		return run.found, nil
	}
	if err != nil {
		return run.found, run.judged(ctx, walk.File{Path: path}, false, err)
	}
	f := walk.Described(path, info)
	proven, err := run.one(ctx, f, unread)
	if errors.Is(err, store.ErrNotFound) && ctx.Err() == nil {
		c.Progress.Done(1)
		run.lone(path, &run.found.Missing)
		return run.found, nil
	}
	return run.found, run.judged(ctx, f, proven, err)
}

func (c *comparing) one(ctx context.Context, f walk.File, unread bool) (proven bool, err error) {
	o, err := c.Bucket.Head(ctx, manifest.Key(c.Prefix, f.Path))
	if err != nil {
		return false, err
	}
	if err := sameSize(f, o.SizeBytes); err != nil || unread {
		return false, err
	}
	if o.CRC64NVME != "" { // the place has computed it; what an object's metadata say may be of one that was there before
		o.SHA256 = ""
	}
	return c.sameSums(ctx, f, manifest.Record{Path: f.Path}, o)
}
