package data

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/data/walk"
	"github.com/muster-hpc/muster/internal/store"
)

// look opens what a push compares. The streams end with the context.
func (r *pushing) look(ctx context.Context, group *sync.WaitGroup) (sources, error) {
	guesses := make(chan string, guessesAhead)
	objects := ahead(ctx, group, r.objects(ctx, guesses))
	r.idle = idleOf(r.Options.Filter)
	r.source = r.walk(r.idle)
	files := ahead(ctx, group, r.guess(r.source.Files(), guesses))
	var err error
	if r.head, err = r.readHead(ctx); err != nil {
		return sources{}, err
	}
	r.inherits = r.head.torn()
	if prefix, ok := Around(ctx, r.Bucket, r.Prefix); ok {
		r.done.Around = &prefix
	}
	if r.former, err = r.fetch(ctx); err != nil {
		return sources{}, err
	}
	return sources{
		walk:      files,
		objects:   objects,
		committed: ahead(ctx, group, r.former.records()),
		noted:     ahead(ctx, group, r.journal.notes()),
	}, nil
}

// objects are those below the prefix but the dataset's own, by their paths. Empty objects that stand for folders are
// of no file.
func (r *pushing) objects(ctx context.Context, guesses <-chan string) iter.Seq2[store.Object, error] {
	below, own := r.key(""), r.key(manifest.Dir+"/")
	all := r.Bucket.List(ctx, below)
	if b, ok := r.Bucket.(alongLister); ok {
		all = b.ListAlong(ctx, below, guesses)
	}
	return func(yield func(store.Object, error) bool) {
		for o, err := range all {
			if errors.Is(err, store.ErrNotFound) && r.Options.MakeBucket {
				return // a preview makes none
			}
			if err == nil && strings.HasPrefix(o.Key, own+"manifests/") {
				r.seen = append(r.seen, o.Key)
			}
			if err == nil && (strings.HasPrefix(o.Key, own) || strings.HasSuffix(o.Key, "/")) {
				continue
			}
			o.Key = strings.TrimPrefix(o.Key, below)
			if !yield(o, err) {
				return
			}
		}
	}
}

// alongLister is a bucket of which several pages are listed at a time by who guesses keys.
type alongLister interface {
	ListAlong(ctx context.Context, prefix string, guesses <-chan string) iter.Seq2[store.Object, error]
}

const (
	guessEvery   = 1000 // files, as a page of S3's lists has
	guessFirst   = 900  // the first page has the dataset's own objects, too
	guessesAhead = 64   // the walk is never that far ahead
)

// guess says of some files where their objects would be, while they are met: most often they are there.
func (r *pushing) guess(files iter.Seq2[walk.File, error], guesses chan<- string) iter.Seq2[walk.File, error] {
	return func(yield func(walk.File, error) bool) {
		n := 0
		for f, err := range files {
			if n++; n%guessEvery == guessFirst && err == nil {
				select {
				case guesses <- r.key(f.Path):
				default:
				}
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// fetch brings the committed manifest here, where it is read as often as it has to be.
func (r *pushing) fetch(ctx context.Context) (*scratch, error) {
	if !r.head.there {
		return nil, nil
	}
	return undamaged(func() (*scratch, error) { return r.fetchOnce(ctx) })
}

func (r *pushing) fetchOnce(ctx context.Context) (*scratch, error) {
	key := manifest.ManifestKey(r.Prefix, r.head.head.Manifest)
	body, _, err := r.Bucket.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%w; to begin anew, delete %s and push again", err, manifest.HeadKey(r.Prefix))
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	s, err := newScratch(r.State)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(s.file, sum), body); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if hex.EncodeToString(sum.Sum(nil)) != r.head.head.ManifestSHA256 {
		return nil, errors.Join(fmt.Errorf("%s is not the manifest that %s names", key, manifest.HeadKey(r.Prefix)), s.close())
	}
	return s, nil
}

// scratch is a file that nobody sees, for what is too long for the memory.
type scratch struct{ file *os.File }

func newScratch(dir string) (*scratch, error) {
	f, err := nameless(dir)
	if err != nil {
		return nil, fmt.Errorf("make a file for what is too long for the memory: %w", err)
	}
	return &scratch{f}, nil
}

func (s *scratch) close() error {
	if s == nil {
		return nil
	}
	return s.file.Close()
}

// reader reads it from its beginning.
func (s *scratch) reader() io.Reader { return io.NewSectionReader(s.file, 0, 1<<62) }

// records are those of a manifest; of none there are none.
func (s *scratch) records() iter.Seq2[manifest.Record, error] {
	if s == nil {
		return func(func(manifest.Record, error) bool) {}
	}
	return manifest.NewReader(s.reader()).All()
}
