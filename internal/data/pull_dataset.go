package data

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync/atomic"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// ErrNone says that there is no dataset at a prefix.
var ErrNone = errors.New("there is no dataset")

// ErrHead says that what is in the place of a dataset's head is none.
var ErrHead = errors.New("the dataset cannot be read")

// ErrChanging says that a push of the dataset is under way or was cut off.
var ErrChanging = errors.New("the dataset is being changed")

// ErrReplaced says that the dataset is another one than when it was looked at.
var ErrReplaced = errors.New("the dataset was changed meanwhile; run the same again")

// Dataset is a dataset as it is in a bucket: its head, and its manifest, which was read and proven.
type Dataset struct {
	Name   string // s3://BUCKET/PREFIX
	Prefix string
	Head   manifest.Head

	bucket store.Store
	kept   kept
	doubts atomic.Int64 // how often an object was not the one of the manifest
}

// headBytes is how long a head may be, in bytes.
const headBytes = 64 << 10

// FindHead reads a dataset's head. It returns ErrNone where there is none.
func FindHead(ctx context.Context, bucket store.Store, prefix, name string) (manifest.Head, error) {
	found, err := readHead(ctx, bucket, prefix)
	if err == nil && !found.there {
		err = fmt.Errorf("%w at %s: %s, which a push puts last, is not there", ErrNone, name, manifest.HeadKey(prefix))
	}
	if err != nil {
		return manifest.Head{}, err
	}
	return found.head, nil
}

// undamaged fetches again what came damaged.
func undamaged[T any](fetch func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		got, err := fetch()
		if !errors.Is(err, store.ErrChecksum) || n == fetches {
			return got, err
		}
	}
}

// readHead reads a head, if there is one. It returns ErrHead for what is none.
func readHead(ctx context.Context, bucket store.Store, prefix string) (*claim, error) {
	c, err := undamaged(func() (*claim, error) { return readHeadOnce(ctx, bucket, prefix) })
	if errors.Is(err, store.ErrChecksum) {
		err = fmt.Errorf("%w: %w", ErrHead, err) // it lies damaged in the bucket
	}
	return c, err
}

func readHeadOnce(ctx context.Context, bucket store.Store, prefix string) (*claim, error) {
	body, o, err := bucket.Get(ctx, manifest.HeadKey(prefix))
	if errors.Is(err, store.ErrNotFound) {
		return &claim{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if o.SizeBytes > headBytes {
		return nil, fmt.Errorf("%w: %s is no head of a dataset: it has %d bytes", ErrHead, o.Key, o.SizeBytes)
	}
	text, err := io.ReadAll(io.LimitReader(body, headBytes+1))
	if err != nil {
		return nil, err
	}
	head, err := manifest.ParseHead(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrHead, o.Key, err)
	}
	return &claim{there: true, head: head, version: o.Version}, nil
}

// Open finds a dataset and reads its manifest. It returns ErrNone and ErrChanging. Close it.
func Open(ctx context.Context, bucket store.Store, prefix, name string) (*Dataset, error) {
	for tries := 0; ; tries++ {
		head, err := FindHead(ctx, bucket, prefix, name)
		if err != nil {
			return nil, err
		}
		if head.State == manifest.Changing {
			return nil, fmt.Errorf("%w: %s: a push is under way, or was cut off; if none is, run that `muster data push` again", ErrChanging, name)
		}
		d := &Dataset{Name: name, Prefix: prefix, Head: head, bucket: bucket}
		err = d.load(ctx)
		if err == nil {
			return d, nil
		}
		if gone := errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrChecksum); !gone || tries == fetches {
			return nil, fmt.Errorf("read the manifest of %s: %w", name, err) // a commit takes the old one away
		}
	}
}

// Close lets the manifest go.
func (d *Dataset) Close() { d.kept.close() }

// load reads the manifest to where it can be read often. Nothing of it is used before all of it is proven.
func (d *Dataset) load(ctx context.Context) error {
	body, o, err := d.bucket.Get(ctx, manifest.ManifestKey(d.Prefix, d.Head.Manifest))
	if err != nil {
		return err
	}
	defer body.Close()
	if err := d.kept.fill(body, o.SizeBytes); err != nil {
		return err
	}
	if got := d.kept.sum; got != d.Head.ManifestSHA256 {
		d.kept.close()
		return fmt.Errorf("%w: %s has %s, and the head says %s", store.ErrChecksum, o.Key, got, d.Head.ManifestSHA256)
	}
	return nil
}

// Records yields the files of the dataset in their order, and an error after the last one if the head counts others. It
// may be called often, and by many.
func (d *Dataset) Records(ctx context.Context) iter.Seq2[manifest.Record, error] {
	return func(yield func(manifest.Record, error) bool) {
		files, bytes := int64(0), int64(0)
		for r, err := range manifest.NewReader(d.kept.reader()).All() {
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(manifest.Record{}, fmt.Errorf("%s: %w", d.Name, err))
				return
			}
			files, bytes = files+1, bytes+r.SizeBytes
			if !yield(r, nil) {
				return
			}
		}
		if files != d.Head.Files || bytes != d.Head.Bytes {
			yield(manifest.Record{}, fmt.Errorf("%s: %s counts %d files of %d bytes, and its manifest names %d of %d; push the dataset again",
				d.Name, manifest.HeadKey(d.Prefix), d.Head.Files, d.Head.Bytes, files, bytes))
		}
	}
}

// wanted yields those records that are wanted; nil is for all.
func (d *Dataset) wanted(ctx context.Context, wanted func(path string, dir bool) bool) iter.Seq2[manifest.Record, error] {
	return func(yield func(manifest.Record, error) bool) {
		for r, err := range d.Records(ctx) {
			if (err != nil || wanted == nil || wanted(r.Path, false)) && !yield(r, err) {
				return
			}
		}
	}
}

// asked is how many objects that are not those of the manifest make it ask for the head each time. With many, a look at
// the end has to do.
const asked = 8

// replaced says what it means that an object is not the one of the manifest: the dataset is another one by now, or
// somebody touched the object alone.
func (d *Dataset) replaced(ctx context.Context, why error) error {
	if d.doubts.Add(1) <= asked {
		if err := d.still(ctx); err != nil {
			return err
		}
	}
	if errors.Is(why, store.ErrNotFound) {
		return flaw{errors.New("its object is not there, though the manifest names it; push the dataset again")}
	}
	return flaw{errors.New("its object is another one than was pushed, though the manifest is the same; push the dataset again")}
}

// settled returns ErrReplaced if the dataset is another one by now, where there were doubts.
func (d *Dataset) settled(ctx context.Context) error {
	if d.doubts.Load() == 0 {
		return nil
	}
	return d.still(ctx)
}

// still returns ErrReplaced if the dataset is another one by now.
func (d *Dataset) still(ctx context.Context) error {
	head, err := FindHead(ctx, d.bucket, d.Prefix, d.Name)
	if err != nil && !errors.Is(err, ErrNone) {
		return err
	}
	if err != nil || head.ManifestSHA256 != d.Head.ManifestSHA256 || head.State != manifest.Whole {
		return fmt.Errorf("%s: %w", d.Name, ErrReplaced)
	}
	return nil
}

// keptBytes is how much of a manifest is kept in memory; a longer one lies in a file without a name.
const keptBytes = 4 << 20

// kept is a text that was read once, and is read again.
type kept struct {
	text []byte
	file *os.File
	size int64
	sum  string // SHA-256 in hex
}

func (s *kept) fill(from io.Reader, size int64) error {
	s.close()
	sha := sha256.New()
	from = io.TeeReader(from, sha)
	var err error
	if size <= keptBytes {
		s.text, err = io.ReadAll(from)
		s.size = int64(len(s.text))
	} else {
		err = s.write(from)
	}
	if err != nil {
		s.close()
		return err
	}
	s.sum = hex.EncodeToString(sha.Sum(nil))
	return nil
}

func (s *kept) write(from io.Reader) error {
	f, err := nameless("")
	if err != nil {
		return err
	}
	s.file = f
	s.size, err = io.Copy(f, from)
	return err
}

func (s *kept) reader() io.Reader {
	if s.file != nil {
		return io.NewSectionReader(s.file, 0, s.size)
	}
	return bytes.NewReader(s.text)
}

func (s *kept) close() {
	if s.file != nil {
		s.file.Close()
	}
	*s = kept{}
}
