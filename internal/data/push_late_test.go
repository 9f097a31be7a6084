package data_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// late is a bucket where what a killed push sent comes to its place when the next one, which listed the bucket before,
// puts the same.
type late struct {
	*storetest.Fake
	came map[string]func(store.Upload) store.Upload
}

func (l *late) PutIf(ctx context.Context, u store.Upload, version string) (store.Object, error) {
	if as := l.came[u.Key]; as != nil {
		former := as(u)
		former.Same, former.Begun, former.Resume = nil, nil, ""
		if _, err := l.Fake.Put(ctx, former); err != nil {
			return store.Object{}, err
		}
	}
	return l.Fake.PutIf(ctx, u, version)
}

func theSame(u store.Upload) store.Upload { return u }

func TestPushTakesWhatLandsLate(t *testing.T) {
	for _, partBytes := range []int64{0, 4} {
		bucket := &late{Fake: &storetest.Fake{PartBytes: partBytes}}
		b := newBench(t, bucket)
		b.write("old", "old")
		b.pushes()
		b.write("old", "replaced")
		b.write("new", "put anew")
		bucket.came = map[string]func(store.Upload) store.Upload{"set/old": theSame, "set/new": theSame}
		b.pushes()
		b.wants(b.files())
	}
}

func TestPushIsToldOfWhatAnotherPut(t *testing.T) {
	other := func(u store.Upload) store.Upload {
		u.Body = strings.NewReader("their bytes"[:u.SizeBytes])
		return u
	}
	bucket := &late{Fake: &storetest.Fake{}, came: map[string]func(store.Upload) store.Upload{"set/new": other}}
	b := newBench(t, bucket)
	b.write("new", "mine")
	if _, err := b.push(); !errors.Is(err, data.ErrRival) {
		t.Errorf("got %v", err)
	}
}

// TestPushDeletesWhatItSaw has somebody put another object where a push found one that is to go: that one stays, and is told.
func TestPushDeletesWhatItSaw(t *testing.T) {
	bucket := &meddled{Fake: &storetest.Fake{}, meddle: func(string) {}}
	b := newBench(t, bucket)
	b.Delete = true
	b.write("a", "1")
	b.write("gone", "2")
	b.write("went", "3")
	b.pushes()
	b.write("a", "11")
	b.remove("gone")
	b.remove("went")
	bucket.meddle = func(string) { put(t, bucket.Fake, "set/gone", "somebody's") }
	p := b.pushes()
	if p.DeletedFiles != 1 || p.Strays.All != 1 || p.Strays.List[0] != "gone" {
		t.Errorf("got %+v", p)
	}
	if got := b.content("set/gone"); got != "somebody's" {
		t.Errorf("what somebody put is %q", got)
	}
	b.wants(b.files())
}
