// Package storetest has the conformance suite of store.Store, a fake that passes it, and the real server for tests.
package storetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/store"
)

// Fake is a bucket in memory. The zero value is ready, and its bucket exists.
type Fake struct {
	Now func() time.Time // the place's clock; nil for the system's

	PartBytes int64 // what is longer goes in parts of so many bytes; 0 for never

	mu      sync.Mutex // guards what follows
	objects map[string]stored
	puts    int
	uploads map[string][]string // by ID: the CRC64NVME of each part that came, "" for the others
	begun   int
}

type stored struct {
	about store.Object
	body  []byte
}

var _ store.Store = (*Fake)(nil)

// MakeBucket implements store.Store.
func (f *Fake) MakeBucket(ctx context.Context) error { return context.Cause(ctx) }

// Put implements store.Store.
func (f *Fake) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	return f.put(ctx, u, func(store.Object, bool) bool { return true })
}

// PutIf implements store.Store.
func (f *Fake) PutIf(ctx context.Context, u store.Upload, version string) (store.Object, error) {
	return f.put(ctx, u, func(o store.Object, there bool) bool { return there == (version != "") && o.Version == version })
}

func (f *Fake) put(ctx context.Context, u store.Upload, may func(store.Object, bool) bool) (store.Object, error) {
	if err := context.Cause(ctx); err != nil {
		return store.Object{}, failed("put", u.Key, err)
	}
	if err := u.Fits(); err != nil {
		return store.Object{}, failed("put", u.Key, err)
	}
	id, err := f.upload(u)
	if err != nil {
		f.forget(id)
		return store.Object{}, failed("put", u.Key, err)
	}
	body := make([]byte, u.SizeBytes)
	if err := f.read(ctx, u, id, body); err != nil {
		if u.Begun == nil && u.Resume == "" || errors.Is(err, io.ErrUnexpectedEOF) {
			f.forget(id)
		}
		return store.Object{}, failed("put", u.Key, err)
	}
	defer f.forget(id)
	sums, err := store.Sum(bytes.NewReader(body), u.SizeBytes)
	if err == nil && u.Same != nil {
		err = u.Same()
	}
	known := store.Sums{SHA256: cmp.Or(u.Sums.SHA256, sums.SHA256), CRC64NVME: cmp.Or(u.Sums.CRC64NVME, sums.CRC64NVME)}
	if err == nil && known != sums {
		err = store.ErrChecksum
	}
	var o store.Object
	if err == nil {
		o, err = f.keep(u, sums, body, may)
	}
	if err != nil {
		return store.Object{}, failed("put", u.Key, err)
	}
	return o, nil
}

// read takes all of a content.
func (f *Fake) read(ctx context.Context, u store.Upload, id string, body []byte) error {
	if id != "" {
		return f.readParts(ctx, u, id, body)
	}
	if _, err := io.ReadFull(io.NewSectionReader(u.Body, 0, u.SizeBytes), body); err != nil {
		return err
	}
	told(u.Sent, u.SizeBytes)
	return nil
}

func (f *Fake) keep(u store.Upload, sums store.Sums, body []byte, may func(store.Object, bool) bool) (store.Object, error) {
	now := time.Now
	if f.Now != nil {
		now = f.Now
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if former, there := f.objects[u.Key]; !may(former.about, there) {
		return store.Object{}, store.ErrChanged
	}
	if f.objects == nil {
		f.objects = map[string]stored{}
	}
	f.puts++
	o := store.Object{Key: u.Key, SizeBytes: u.SizeBytes, Modified: now(), Version: fmt.Sprint(f.puts), SHA256: sums.SHA256, CRC64NVME: sums.CRC64NVME, Meta: maps.Clone(u.Meta)}
	f.objects[u.Key] = stored{o, body}
	if f.inParts(u) {
		o.PartBytes, o.Parts = f.PartBytes, f.partsOf(body)
	}
	return o, nil
}

// Damage flips one bit of an object at rest, as a bad disk does.
func (f *Fake) Damage(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[key].body[0] ^= 1
}

// Puts counts the objects that were stored so far.
func (f *Fake) Puts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.puts
}

// Get implements store.Store.
func (f *Fake) Get(ctx context.Context, key string) (io.ReadCloser, store.Object, error) {
	o, err := f.find(ctx, key)
	if err != nil {
		return nil, store.Object{}, failed("get", key, err)
	}
	body := io.NopCloser(bytes.NewReader(bytes.Clone(o.body)))
	return o.about.Verify(body), o.about, nil
}

// Range implements store.Store.
func (f *Fake) Range(ctx context.Context, key string, from, size int64, version string) (io.ReadCloser, error) {
	o, err := f.find(ctx, key)
	if err == nil && version != "" && o.about.Version != version {
		err = store.ErrChanged
	}
	if err != nil {
		return nil, failed("get", key, err)
	}
	length := int64(len(o.body))
	return io.NopCloser(&short{bytes.NewReader(o.body[min(from, length):min(from+size, length)]), from+size > length}), nil
}

// short is a body that ends too early if it is.
type short struct {
	*bytes.Reader
	is bool
}

func (s *short) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF && s.is {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Head implements store.Store.
func (f *Fake) Head(ctx context.Context, key string) (store.Object, error) {
	o, err := f.find(ctx, key)
	if err != nil {
		return store.Object{}, failed("look at", key, err)
	}
	return o.about, nil
}

func (f *Fake) find(ctx context.Context, key string) (stored, error) {
	if err := context.Cause(ctx); err != nil {
		return stored{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	o, ok := f.objects[key]
	if !ok {
		return stored{}, store.ErrNotFound
	}
	o.about.Meta = maps.Clone(o.about.Meta)
	return o, nil
}

// List implements store.Store.
func (f *Fake) List(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		if err := context.Cause(ctx); err != nil {
			yield(store.Object{}, failed("list", prefix+"*", err))
			return
		}
		for _, o := range f.all(prefix) {
			if !yield(o, nil) {
				return
			}
		}
	}
}

func (f *Fake) all(prefix string) []store.Object {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []store.Object
	for _, key := range slices.Sorted(maps.Keys(f.objects)) {
		if strings.HasPrefix(key, prefix) {
			o := f.objects[key].about
			o.SHA256, o.CRC64NVME, o.Meta = "", "", nil
			found = append(found, o)
		}
	}
	return found
}

// Delete implements store.Store.
func (f *Fake) Delete(ctx context.Context, key string) error {
	if err := context.Cause(ctx); err != nil {
		return failed("delete", key, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.objects, key)
	return nil
}

// DeleteIf implements store.Store.
func (f *Fake) DeleteIf(ctx context.Context, key, version string) error {
	if err := context.Cause(ctx); err != nil {
		return failed("delete", key, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if o, there := f.objects[key]; there && o.about.Version != version {
		return failed("delete", key, store.ErrChanged)
	}
	delete(f.objects, key)
	return nil
}

func failed(deed, key string, err error) error { return fmt.Errorf("%s object %s: %w", deed, key, err) }
