// Package restore brings the newest whole checkpoint of a model from a bucket, or the one that is named.
//
// Its laws: a directory has the name of a checkpoint only when all of its files are there and proven; a pointer leads to it
// only after that; what is there already and differs stays, unless its user says otherwise. It may be killed at any moment:
// the next run goes on with what came. Keys and contents come from outside: nothing leads out of the directory.
//
//	Look (which checkpoints there are)  ->  Choose (which are whole)  ->  Bring
package restore

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// mostPointer is the size up to which an object may be a pointer.
const mostPointer = 4096

// View is what there is below a prefix.
type View struct {
	Prefix string // without slashes at its ends

	bucket   store.Store
	now      time.Time
	all      []*candidate
	pointers []pointed
	markers  map[string]string // by run: the file by which checkpoints of it say that they are whole
	datasets map[string]bool   // directories below the prefix, with "." for itself, that are datasets
}

// candidate is a directory that may be a checkpoint, or a file that is one.
type candidate struct {
	dir    string    // below the prefix
	single bool      // it is a file
	hidden bool      // NeMo says that it is being written
	size   int64     // of a file
	at     time.Time // when the last of it came
}

func (c *candidate) run() string { return path.Dir(c.dir) }
func (c *candidate) step() int64 { return checkpoint.Step(c.dir) }

// pointed is a pointer of the bucket.
type pointed struct {
	path   string // below the prefix
	text   string // without space around it
	line   bool   // with an end of line behind it
	object store.Object
}

// Look finds the checkpoints below a prefix. It keeps directories, not files: there may be very many.
func Look(ctx context.Context, bucket store.Store, prefix string, now time.Time) (*View, error) {
	v := &View{Prefix: strings.Trim(prefix, "/"), bucket: bucket, now: now, datasets: map[string]bool{}}
	singles, unfinished := []*candidate{}, map[string]bool{}
	var pointers []store.Object
	var marked []string
	ages := ages{}
	var failed error
	dirs := checkpoint.Dirs(func(yield func(string) bool) {
		for o, err := range bucket.List(ctx, v.key("")) {
			if err != nil {
				failed = err
				return
			}
			p := v.path(o.Key)
			ages.add(p, o.Modified)
			if checkpoint.IsMarker(p) {
				marked = append(marked, p)
			}
			switch {
			case !fs.ValidPath(p) || checkpoint.Temporary(p):
				continue
			case ofDataset(p):
				if dir, is := strings.CutSuffix("/"+p, "/"+manifest.HeadKey("")); is {
					v.datasets[path.Clean("."+dir)] = true
				}
				continue
			case strings.HasSuffix(p, "-unfinished"):
				unfinished[p] = true
			case mayPoint(p) && o.SizeBytes <= mostPointer:
				pointers = append(pointers, o)
			case checkpoint.Single(p):
				singles = append(singles, &candidate{dir: p, single: true, size: o.SizeBytes, at: o.Modified})
			}
			if !yield(p) {
				return
			}
		}
	})
	if failed != nil {
		return nil, failed
	}
	v.markers = checkpoint.Markers(slices.Values(marked), dirs)
	for _, dir := range dirs {
		v.all = append(v.all, &candidate{dir: dir, hidden: unfinished[checkpoint.UnfinishedName(dir)]})
	}
	ages.dateCandidates(v.all)
	for _, c := range singles {
		if !slices.ContainsFunc(v.all, func(d *candidate) bool { return !d.single && (d.dir == "." || strings.HasPrefix(c.dir, d.dir+"/")) }) {
			c.hidden = unfinished[checkpoint.UnfinishedName(c.dir)]
			v.all = append(v.all, c)
		}
	}
	return v, v.readPointers(ctx, pointers)
}

// mayPoint says that a file may name the newest checkpoint beside it.
func mayPoint(p string) bool {
	name := path.Base(p)
	return checkpoint.Pointer(p) || name == "last.ckpt" || strings.HasSuffix(name, "-last.ckpt") || name == "last" || name == "best" || name == "current"
}

// readPointers reads what is small enough to be one, beside a checkpoint.
func (v *View) readPointers(ctx context.Context, all []store.Object) error {
	runs := map[string]bool{}
	for _, c := range v.all {
		runs[c.run()] = true
	}
	for _, o := range all {
		p := v.path(o.Key)
		if !runs[path.Dir(p)] {
			continue
		}
		text, got, err := v.read(ctx, o.Key, mostPointer)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if name := strings.TrimSpace(string(text)); name != "" && !strings.ContainsAny(name, "\n\x00") {
			v.pointers = append(v.pointers, pointed{path: p, text: name, line: strings.HasSuffix(string(text), "\n"), object: got})
		}
	}
	return nil
}

// names says that a pointer names a checkpoint beside it: by its name, by a path that ends in it, or by its step alone.
func (p pointed) names(dir string) bool {
	return path.Dir(p.path) == path.Dir(dir) && checkpoint.Names(p.text, dir)
}

// key is the key of a path below the prefix.
func (v *View) key(p string) string { return manifest.Key(v.Prefix, p) }

func (v *View) path(key string) string {
	return strings.TrimPrefix(key, v.key(""))
}
