package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3response"
	"golang.org/x/sys/unix"
)

// objectsIn are a backend's, with a way to describe an object as a list does, and one that remembers nothing.
type objectsIn struct {
	durable
	t *testing.T
}

func objectsOf(t *testing.T) objectsIn {
	t.Helper()
	o := objectsIn{durableIn(t, &disk{}), t}
	if o.described == nil {
		t.Fatal("the file system of temporary files has no extended attributes, of which this is")
	}
	return o
}

func (o objectsIn) says(d *described, key string, now time.Time) (s3response.Object, error) {
	return d.file(o.at(key), key, now, o.attributesOf("data"))
}

func (o objectsIn) at(key string) string { return filepath.Join(o.root, "data", key) }

// same fails where what is remembered is not what there is.
func (o objectsIn) same(keys []string, now time.Time, when string) {
	o.t.Helper()
	for _, key := range keys {
		want, gone := o.says(nil, key, now)
		got, err := o.says(o.described, key, now)
		if fmt.Sprint(err) != fmt.Sprint(gone) || !reflect.DeepEqual(got, want) {
			o.t.Fatalf("%s: %s is %+v (%v), want %+v (%v)", when, key, got, err, want, gone)
		}
	}
}

// ticks returns when the file system's clock has gone on.
func (o objectsIn) ticks() {
	var was, is unix.Stat_t
	probe := filepath.Join(o.root, "probe")
	for is.Ctim == was.Ctim {
		err := errors.Join(os.WriteFile(probe, nil, 0o600), os.Chmod(probe, 0o600), unix.Lstat(probe, &is))
		if err != nil {
			o.t.Fatal(err)
		}
		if was.Ino == 0 {
			was = is
		}
	}
}

// change does something to an object as clients do, or somebody by hand.
func (o objectsIn) change(r *rand.Rand, keys []string) string {
	key, other := keys[r.IntN(len(keys))], keys[r.IntN(len(keys))]
	at, beside := o.at(key), o.at(other)
	attribute := []string{"etag", "checksums"}[r.IntN(2)]
	deeds := []struct {
		name string
		do   func() error
	}{
		{"put", func() error { return o.putText(o.t.Context(), key, anyText(r)) }},
		{"put", func() error { return o.putText(o.t.Context(), key, anyText(r)) }},
		{"remove", func() error { return os.Remove(at) }},
		{"rename to " + other, func() error { return os.Rename(at, beside) }},
		{"link as " + other, func() error { return os.Link(at, beside) }},
		{"symbolic link to " + other, func() error { return os.Symlink(beside, at) }},
		{"other " + attribute, func() error {
			return unix.Setxattr(at, "user."+attribute, fmt.Appendf(nil, `{"Algorithm":"%d","Type":"%d"}`, r.IntN(100), r.IntN(3)), 0)
		}},
		{"no " + attribute, func() error { return unix.Removexattr(at, "user."+attribute) }},
		{"written under its old date", func() error {
			info, err := os.Stat(at)
			if err == nil {
				err = errors.Join(os.WriteFile(at, []byte(anyText(r)), 0o600), os.Chtimes(at, info.ModTime(), info.ModTime()))
			}
			return err
		}},
		{"in the place of " + other, func() error {
			var a, b unix.Stat_t
			if err := errors.Join(unix.Lstat(at, &a), unix.Lstat(beside, &b)); err != nil {
				return err
			}
			o.described.places[b.Ino%describedMost].Store(o.described.places[a.Ino%describedMost].Load())
			return nil
		}},
	}
	d := deeds[r.IntN(len(deeds))]
	return fmt.Sprintf("%s %s: %v", d.name, key, d.do())
}

// TestDescribed changes files in all ways, when all that can be remembered is: what lists say is what there is.
func TestDescribed(t *testing.T) {
	o := objectsOf(t)
	keys := []string{"a", "b", "c", "d", "e"}
	r := rand.New(rand.NewPCG(7, 8))
	for turn := range 400 {
		o.ticks()
		did := fmt.Sprintf("turn %d, %s", turn, o.change(r, keys))
		later := time.Now().Add(2 * clocksTick)
		o.same(keys, later, did)
		o.same(keys, later, did+", again")
	}
}

// TestDescribed_of_late changes attributes faster than clocks of file systems show.
func TestDescribed_of_late(t *testing.T) {
	o := objectsOf(t)
	if err := o.putText(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		if err := unix.Setxattr(o.at("a"), "user.etag", fmt.Append(nil, i), 0); err != nil {
			t.Fatal(err)
		}
		if got, err := o.says(o.described, "a", time.Now()); err != nil || *got.ETag != fmt.Sprint(i) {
			t.Fatalf("change %d: it is %q (%v)", i, *got.ETag, err)
		}
	}
}

// TestDescribed_remembers holds that a file which is known is not read again, and that one that is gone, or a link in a circle, is skipped.
func TestDescribed_remembers(t *testing.T) {
	o := objectsOf(t)
	if err := o.putText(t.Context(), "a", "1"); err != nil {
		t.Fatal(err)
	}
	reads := 0
	for range 5 {
		_, err := o.described.file(o.at("a"), "a", time.Now().Add(2*clocksTick), func(key string) (string, sumKind, error) {
			reads++
			return o.attributesOf("data")(key)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if reads != 1 {
		t.Errorf("its attributes were read %d times", reads)
	}
	if err := os.Symlink("circle", o.at("circle")); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"none", "circle"} {
		if _, err := o.says(o.described, key, time.Now()); !errors.Is(err, backend.ErrSkipObj) {
			t.Errorf("%s, which leads to no file, is %v", key, err)
		}
	}
}
