package export_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestFileThatGrowsIsCountedOnce has files that grow after a round planned to wait for one, and failed with another.
func TestFileThatGrowsIsCountedOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"bad": "xx", "sent": "x"})
	grow := func(p, text string) {
		if err := os.WriteFile(filepath.Join(dir, p), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	grow("growing", "123")
	m := mirror(dir, &picky{Store: &storetest.Fake{}, parts: []string{"bad"}, asked: map[string]int{}})
	if _, err := m.Round(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"growing", "bad", "sent"} {
		grow(p, "12345")
	}
	if err := m.Peek(); err != nil {
		t.Fatal(err)
	}
	p := m.Track.Progress()
	var waiting []string
	for _, w := range p.Waiting {
		if waiting = append(waiting, w.Path); w.SizeBytes != 5 {
			t.Errorf("%+v is not as large as it is now", w)
		}
	}
	if diff := cmp.Diff([]string{"growing", "sent"}, waiting); diff != "" || p.Files != 3 || p.Bytes != 15 || p.Exported != 1 {
		t.Errorf("got %+v\n%s", p, diff)
	}
}

// TestExportedIsCountedAtOnce asks how many files were exported while the round still goes on.
func TestExportedIsCountedAtOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"run/step/x": "x", "run/latest": "step"})
	m := mirror(dir, nil)
	at := -1
	m.Store = &asking{Store: &storetest.Fake{}, at: "fsx1/run/latest", ask: func() { at = m.Track.Progress().Exported }}
	if _, err := m.Round(t.Context(), soon()); !errors.Is(err, errCut) || at != 1 {
		t.Errorf("%d were exported before the pointer: %v", at, err)
	}
}

// asking is a store that asks something when an object is put, and then fails.
type asking struct {
	store.Store
	at  string
	ask func()
}

func (a *asking) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	if u.Key != a.at {
		return a.Store.Put(ctx, u)
	}
	a.ask()
	return store.Object{}, errCut
}

// TestSinceWhen has files that wait because the bucket takes nothing: it is said since when, until they are sent.
func TestSinceWhen(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"a": "x", "b": "y", "c.log": "z"})
	m := mirror(dir, shut{&storetest.Fake{}})
	before := time.Now()
	if _, err := m.Round(t.Context(), soon()); err == nil {
		t.Fatal("the bucket took it")
	}
	if p := m.Track.Progress(); p.Since.Before(before) || p.Since.After(time.Now()) || p.Files != 3 {
		t.Errorf("got %+v", p)
	}
	m.Store = &storetest.Fake{}
	finish(t, m)
	if p := m.Track.Progress(); !p.Since.IsZero() || p.Files != 0 {
		t.Errorf("got %+v", p)
	}
}

// shut is a bucket that can be looked at, and takes nothing.
type shut struct{ store.Store }

func (shut) Put(context.Context, store.Upload) (store.Object, error) {
	return store.Object{}, errors.New("no answer")
}
