package data_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
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

// TestPushTellsPatterns holds that what patterns leave out is not taken for gone, and that patterns without effect are known.
func TestPushTellsPatterns(t *testing.T) {
	b := newBench(t, &storetest.Fake{})
	b.write("a.tmp", "1")
	b.write("d/b.tmp", "2")
	b.write("d/c", "3")
	b.pushes()
	b.Delete, b.Include, b.Exclude = true, []string{"d"}, []string{"c", "**/*.none"}
	p := b.pushes()
	if p.LeftOutFiles != 1 || p.StayingFiles != 0 || p.DeletedFiles != 0 {
		t.Errorf("got %+v", p)
	}
	if got := append(p.IdleIncludes, p.IdleExcludes...); len(got) != 2 || got[0] != "c" || data.Everywhere("c") != "**/c" || data.Everywhere("d/*") != "" {
		t.Errorf("idle are %q", got)
	}
	b = newBench(t, &storetest.Fake{})
	b.write("d/a", "1")
	b.Include = []string{"nosuch/**"}
	for name, run := range map[string]func() error{
		"push":    func() error { _, err := b.push(); return err },
		"preview": func() error { _, err := b.preview(func(data.PushStep) {}); return err },
	} {
		if err := run(); !errors.Is(err, data.ErrNothing) || !strings.Contains(err.Error(), `--include "nosuch/**"`) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestPushAmongDatasets holds that a push tells which datasets are below it and around it.
func TestPushAmongDatasets(t *testing.T) {
	bucket := &storetest.Fake{}
	push := func(prefix string) data.Pushed {
		b := newBench(t, bucket)
		b.write("a", prefix)
		p := b.of()
		p.Prefix = prefix
		done, err := p.Run(t.Context())
		ok(t, err)
		return done
	}
	push("set/x/y")
	if p := push("set"); p.Below.All != 1 || p.Below.List[0] != "x/y" || p.Around != nil {
		t.Errorf("below: got %+v", p)
	}
	if p := push("set/z/z"); p.Around == nil || *p.Around != "set" || p.Below.All != 0 {
		t.Errorf("inside: got %+v", p)
	}
	if p := push(""); p.Below.All != 3 {
		t.Errorf("of the bucket: got %+v", p)
	}
}

// TestPushOfNothingThere holds that a source that is not there is told in plain words.
func TestPushOfNothingThere(t *testing.T) {
	b := newBench(t, &storetest.Fake{})
	b.remove(".")
	if _, err := b.push(); err == nil || !strings.HasSuffix(err.Error(), "source: there is no such file or directory") {
		t.Errorf("got %v", err)
	}
}
