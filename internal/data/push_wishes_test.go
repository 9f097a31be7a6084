package data_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// noting is a bucket that notes how it was asked to keep what it got.
type noting struct {
	*storetest.Fake

	mu  sync.Mutex // guards got
	got map[string]store.Upload
}

func (n *noting) note(u store.Upload) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.got[u.Key] = u
}

func (n *noting) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	n.note(u)
	return n.Fake.Put(ctx, u)
}

func (n *noting) PutIf(ctx context.Context, u store.Upload, version string) (store.Object, error) {
	n.note(u)
	return n.Fake.PutIf(ctx, u, version)
}

// TestPushEncryptsItsOwn holds that names and checksums are encrypted as the files are.
func TestPushEncryptsItsOwn(t *testing.T) {
	bucket := &noting{Fake: &storetest.Fake{}, got: map[string]store.Upload{}}
	b := newBench(t, bucket)
	b.KMSKey, b.Class = "alias/mine", "STANDARD_IA"
	b.write("a", "one")
	b.pushes()
	b.write("a", "three")
	b.pushes()
	own := 0
	for key, u := range bucket.got {
		if strings.HasPrefix(key, "set/.muster/") {
			own++
			if u.Class != "" {
				t.Errorf("%s is of class %s", key, u.Class)
			}
		}
		if u.KMSKey != "alias/mine" {
			t.Errorf("%s was put with the key %q", key, u.KMSKey)
		}
	}
	if own < 3 {
		t.Errorf("only %d of the dataset's own", own)
	}
}
