package data_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
)

func TestFilter(t *testing.T) {
	for _, c := range []struct{ include, exclude, yes, no string }{
		{"", "", "a b/c .x", ""},
		{"", "*.tmp", "a b/x.tmp", "x.tmp"},
		{"", "**/*.tmp", "a b/x", "x.tmp b/x.tmp b/c/x.tmp"},
		{"", "cache", "a b/cache cachex", "cache cache/a cache/b/c"},
		{"", "cache/", "a", "cache/a"},
		{"", "**/cache", "a", "cache/x a/cache/x"},
		{"train", "", "train train/a train/b/c", "a trainx b/train"},
		{"train/*.bin", "", "train/a.bin", "train/b/a.bin a.bin"},
		{"train/**/*.bin", "", "train/a.bin train/b/c/a.bin", "a.bin"},
		{"{a,b}/**", "b/x", "a/1 b/2", "b/x b/x/y c/1"},
		{"./a", "", "a a/b", "b"},
		{"a?[0-9]", "", "ab1", "a1 abc"},
	} {
		f := data.Filter{Include: strings.Fields(c.include), Exclude: strings.Fields(c.exclude)}
		if err := f.Check(); err != nil {
			t.Error(err)
		}
		for path := range strings.FieldsSeq(c.yes) {
			if !f.Takes(path) {
				t.Errorf("+%s -%s leaves %s out", c.include, c.exclude, path)
			}
		}
		for path := range strings.FieldsSeq(c.no) {
			if f.Takes(path) {
				t.Errorf("+%s -%s takes %s", c.include, c.exclude, path)
			}
		}
	}
	for _, p := range []string{"", "/", "/a", "[", "a{b"} {
		if err := (data.Filter{Exclude: []string{p}}).Check(); err == nil {
			t.Errorf("%q is a pattern", p)
		}
	}
}

// TestAnyFilter holds that a directory is entered if anything below it is meant.
func TestAnyFilter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(most int, of ...string) string {
		parts := make([]string, 1+r.IntN(most))
		for i := range parts {
			parts[i] = of[r.IntN(len(of))]
		}
		return strings.Join(parts, "/")
	}
	for range 20_000 {
		var f data.Filter
		for range r.IntN(3) {
			f.Include = append(f.Include, pick(3, "a", "b", "*", "**", "{a,b/c}", "?", "a*"))
		}
		for range r.IntN(2) {
			f.Exclude = append(f.Exclude, pick(3, "a", "b", "*", "**", "[bc]"))
		}
		path := pick(4, "a", "b", "c", "ab")
		if f.Check() != nil || !f.Takes(path) {
			continue
		}
		for i := range len(path) {
			if path[i] == '/' && !f.Enters(path[:i]) {
				t.Fatalf("+%q -%q takes %s, and does not enter %s", f.Include, f.Exclude, path, path[:i])
			}
		}
	}
}
