package data

import (
	"context"
	"iter"
	"path"
	"time"

	"github.com/muster-hpc/muster/internal/data/walk"
)

// Extra yields the regular files of the directory that the dataset lacks, of those that are wanted.
func (p *Pull) Extra(ctx context.Context) iter.Seq2[walk.File, error] {
	return func(yield func(walk.File, error) bool) {
		next, stop := iter.Pull2(p.Dataset.Records(ctx))
		defer stop()
		r, err, more := next()
		w := walk.Walk{Root: p.Dir, NoFollow: true, Leftovers: true, Wanted: p.Wanted}
		for f, wrong := range w.Files() {
			for more && err == nil && r.Path < f.Path {
				r, err, more = next()
			}
			if err != nil {
				yield(walk.File{}, err)
				return
			}
			if wrong == nil && !(more && r.Path == f.Path) && !yield(f, nil) {
				return
			}
		}
	}
}

// Delete removes what Extra yields and what was there at a time: then somebody was asked. It says how many files went.
func (p *Pull) Delete(ctx context.Context, asked time.Time) (files, bytes int64, err error) {
	to, err := openLocal(p.Dir)
	if err != nil {
		return 0, 0, err
	}
	defer to.close()
	for f, err := range p.Extra(ctx) {
		if err != nil {
			return files, bytes, err
		}
		if f.Self.Change >= asked.UnixNano() {
			continue
		}
		if err := to.remove(f.Path); err != nil {
			return files, bytes, err
		}
		files++
		bytes += f.SizeBytes
	}
	return files, bytes, nil
}

func (l *local) remove(file string) error {
	dir, err := l.folder(file, false)
	if err != nil {
		return err
	}
	defer l.release(dir)
	return dir.root.Remove(path.Base(file))
}
