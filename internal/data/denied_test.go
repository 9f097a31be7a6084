package data_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// denying is a bucket that denies what is done to some of its objects.
type denying struct {
	*storetest.Fake
	denies func(deed, key string) bool
}

func (d *denying) judge(deed, key string) error {
	if d.denies != nil && d.denies(deed, key) {
		return fmt.Errorf("%s object %s: %w", deed, key, store.ErrDenied)
	}
	return nil
}

func (d *denying) Range(ctx context.Context, key string, from, size int64, version string) (io.ReadCloser, error) {
	if err := d.judge("get", key); err != nil {
		return nil, err
	}
	return d.Fake.Range(ctx, key, from, size, version)
}

func (d *denying) Head(ctx context.Context, key string) (store.Object, error) {
	if err := d.judge("look at", key); err != nil {
		return store.Object{}, err
	}
	return d.Fake.Head(ctx, key)
}

func (d *denying) PutIf(ctx context.Context, u store.Upload, version string) (store.Object, error) {
	if err := d.judge("put", u.Key); err != nil {
		return store.Object{}, err
	}
	return d.Fake.PutIf(ctx, u, version)
}

func (d *denying) Delete(ctx context.Context, key string) error {
	if err := d.judge("delete", key); err != nil {
		return err
	}
	return d.Fake.Delete(ctx, key)
}

// many is how many files there are besides the one that is denied.
const many = 40

func denyingBench(t *testing.T) (*bench, *denying) {
	t.Helper()
	bucket := &denying{Fake: &storetest.Fake{}}
	b := newBench(t, bucket)
	for i := range many {
		b.write(fmt.Sprintf("f%d", i), "1")
	}
	b.write("a", "1")
	return b, bucket
}

// TestOneObjectIsDenied, the first of all, as it has a key of KMS that is not the caller's: the others come, and it is named.
func TestOneObjectIsDenied(t *testing.T) {
	b, bucket := denyingBench(t)
	ofOne := func(_, key string) bool { return key == "set/a" }
	bucket.denies = ofOne
	pushed, err := b.push()
	if !errors.Is(err, data.ErrSource) || pushed.Problems.All != 1 || pushed.Problems.List[0].Path != "a" || pushed.SentFiles != many {
		t.Errorf("push: %v, %+v", err, pushed)
	}
	bucket.denies = nil
	b.pushes()
	bucket.denies = ofOne
	got, err := pull(t, bucket, t.TempDir())
	if !errors.Is(err, errSome) || got.Problems.All != 1 || got.Problems.List[0].Path != "a" || got.Files != many {
		t.Errorf("pull: %v, %+v", err, got)
	}
	d, err := data.Open(t.Context(), bucket, "set", "s3://bucket/set")
	ok(t, err)
	defer d.Close()
	for name, verify := range map[string]func(context.Context) (data.Verified, error){"head": (&data.Verify{Dataset: d}).Heads, "full": (&data.Verify{Dataset: d}).Full} {
		if got, err := verify(t.Context()); err != nil || got.Problems.All != 1 || got.Files != many {
			t.Errorf("verify %s: %v, %+v", name, err, got)
		}
	}
	compared, err := (&data.Compare{Dir: b.root, Bucket: bucket, Prefix: "set", Dataset: d}).Run(t.Context())
	if err != nil || compared.Different.All != 1 || compared.Files != many {
		t.Errorf("compare: %v, %+v", err, compared)
	}
}

// TestAllIsDenied: that is one error, and not one for each file.
func TestAllIsDenied(t *testing.T) {
	b, bucket := denyingBench(t)
	b.pushes()
	bucket.denies = func(_, key string) bool { return !strings.Contains(key, "/.muster/") }
	if got, err := pull(t, bucket, t.TempDir()); !errors.Is(err, store.ErrDenied) {
		t.Errorf("pull: %v, %+v", err, got)
	}
	for i := range many {
		b.write(fmt.Sprintf("f%d", i), "22")
	}
	if pushed, err := b.push(); !errors.Is(err, store.ErrDenied) {
		t.Errorf("push: %v, %+v", err, pushed)
	}
}

// TestNothingMayBeDeleted: a push that replaced what it should is done; the manifest before it stays, and no more come of pushes of nothing new.
func TestNothingMayBeDeleted(t *testing.T) {
	b, bucket := denyingBench(t)
	b.pushes()
	bucket.denies = func(deed, _ string) bool { return deed == "delete" }
	b.write("a", "22")
	if p := b.pushes(); !p.Committed || p.OldManifests.All != 1 {
		t.Errorf("got %+v", p)
	}
	for range 3 {
		if p := b.pushes(); p.Committed || p.OldManifests.All != 1 {
			t.Errorf("again: %+v", p)
		}
	}
	bucket.denies = nil
	b.pushes()
	b.wants(b.files())
}
