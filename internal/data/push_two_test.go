package data_test

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestTwoPushes has another machine push to the same prefix while a push is at its first file. Whatever was there, one
// of the two is told, and what is there then is whole, or says that it is not.
func TestTwoPushes(t *testing.T) {
	for name, c := range map[string]struct{ before, mine, theirs map[string]string }{
		"new_both":          {nil, map[string]string{"a": "1"}, map[string]string{"a": "22"}},
		"both_replace":      {map[string]string{"a": "0"}, map[string]string{"a": "11"}, map[string]string{"a": "222"}},
		"one_adds":          {map[string]string{"x": "0"}, map[string]string{"x": "11"}, map[string]string{"b": "1"}},
		"both_add":          {map[string]string{"x": "0"}, map[string]string{"a": "1"}, map[string]string{"a": "22"}},
		"both_add_another":  {map[string]string{"x": "0"}, map[string]string{"a": "1"}, map[string]string{"b": "22"}},
		"one_adds_the_same": {map[string]string{"x": "0"}, map[string]string{"a": "1"}, map[string]string{"a": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			bucket := &meddled{Fake: &storetest.Fake{}, meddle: func(string) {}}
			first, mine, theirs := newBench(t, bucket.Fake), newBench(t, bucket), newBench(t, bucket.Fake)
			for b, files := range map[*bench]map[string]string{first: c.before, mine: c.mine, theirs: c.theirs} {
				for p, text := range files {
					b.write(p, text)
				}
			}
			if c.before != nil {
				first.pushes()
			}
			var theirErr error
			once := sync.OnceFunc(func() { _, theirErr = theirs.push() })
			bucket.meddle = func(string) { once() }
			_, myErr := mine.push()
			for _, err := range []error{myErr, theirErr} {
				if err != nil && !errors.Is(err, data.ErrRival) {
					t.Errorf("got %v", err)
				}
			}
			if (myErr == nil) == (theirErr == nil) {
				t.Errorf("one ends with %v, the other one with %v", myErr, theirErr)
			}
			if h := mine.head(); h.State == manifest.Whole {
				mine.dataset()
			} else if name != "one_adds" { // where mine is in the midst of what theirs leaves as it is
				t.Errorf("the dataset is %s", h.State)
			}
			mine.pushes()
			mine.dataset()
		})
	}
}

// TestTheSamePushTwice: on one machine the second is told at once.
func TestTheSamePushTwice(t *testing.T) {
	bucket := &meddled{Fake: &storetest.Fake{}}
	b := newBench(t, bucket)
	b.write("a", "1")
	var second error
	bucket.meddle = func(string) { _, second = b.push() }
	b.pushes()
	if !errors.Is(second, data.ErrBusy) {
		t.Errorf("got %v", second)
	}
	if left, err := filepath.Glob(b.state + "/*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
