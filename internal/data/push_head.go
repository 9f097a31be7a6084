package data

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// claim is the dataset's head as a push knows it. Each push that begins to change what the head names puts the head
// anew, and from then on the one before cannot commit: it is told so.
type claim struct {
	there   bool // there is a head
	head    manifest.Head
	version string
	mine    bool // this push put it
}

// torn says that a push before did not come to its end.
func (c *claim) torn() bool { return c.there && c.head.State == manifest.Changing }

func (r *pushing) readHead(ctx context.Context) (*claim, error) {
	return readHead(ctx, r.Bucket, r.Prefix)
}

// take says in the bucket that this push is changing the dataset, before it does so for the first time. New files of a
// whole dataset change nothing that anybody reads. Where there is no dataset yet, an empty one begins to change.
func (r *pushing) take(ctx context.Context, named bool) error {
	if r.head.mine || r.head.there && r.head.head.State == manifest.Whole && !named {
		return nil
	}
	head := r.head.head
	if !r.head.there {
		var empty bytes.Buffer
		if err := manifest.NewWriter(&empty).Close(); err != nil {
			return err
		}
		var err error
		if head, err = r.putManifest(ctx, bytes.NewReader(empty.Bytes()), int64(empty.Len())); err != nil {
			return err
		}
	}
	head.State, head.Committed = manifest.Changing, time.Now()
	return r.putHead(ctx, head)
}

// putHead puts the head in place of the one that this push knows.
func (r *pushing) putHead(ctx context.Context, head manifest.Head) error {
	text := head.Encode()
	o, err := r.Bucket.PutIf(ctx, r.own(manifest.HeadKey(r.Prefix), bytes.NewReader(text), int64(len(text))), r.head.version)
	if errors.Is(err, store.ErrChanged) {
		return r.taken(ctx, head, err)
	}
	if err != nil {
		return err
	}
	*r.head = claim{there: true, head: head, version: o.Version, mine: true}
	return nil
}

// taken looks who put the head. It may be this push, whose answer was lost.
func (r *pushing) taken(ctx context.Context, head manifest.Head, err error) error {
	now, lookErr := r.readHead(ctx)
	if lookErr != nil {
		return errors.Join(err, lookErr)
	}
	if !now.there || !bytes.Equal(now.head.Encode(), head.Encode()) {
		return err
	}
	now.mine = true
	*r.head = *now
	return nil
}

// putManifest puts a manifest, and returns a head that names it.
func (r *pushing) putManifest(ctx context.Context, body io.ReaderAt, size int64) (manifest.Head, error) {
	name := manifest.Name(time.Now().UTC().Format("20060102T150405") + "-" + rand.Text()[:8])
	key := manifest.ManifestKey(r.Prefix, name)
	r.manifests = append(r.manifests, key)
	o, err := r.Bucket.Put(ctx, r.own(key, body, size))
	return manifest.Head{Manifest: name, ManifestSHA256: o.SHA256}, err
}

// own is an upload of what the dataset has besides files. It is encrypted as they are, whose names and checksums are in it;
// it is read too often for any class of storage but the usual one.
func (r *pushing) own(key string, body io.ReaderAt, size int64) store.Upload {
	return store.Upload{Key: key, Body: body, SizeBytes: size, KMSKey: r.Options.KMSKey}
}
