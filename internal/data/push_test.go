package data_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

func TestPush(t *testing.T) {
	bucket := &storetest.Fake{}
	b := newBench(t, bucket)
	b.write("a", "one")
	b.write("b/c", "two")
	b.write("b/empty", "")
	if p := b.pushes(); p.SentFiles != 3 || p.SentBytes != 6 || p.Files != 3 || !p.Committed {
		t.Errorf("the first push: %+v", p)
	}
	b.wants(b.files())

	puts := bucket.Puts()
	if p := b.pushes(); p.UnchangedFiles != 3 || p.UnchangedBytes != 6 || p.SentFiles != 0 || p.Committed || p.Files != 3 {
		t.Errorf("nothing changed: %+v", p)
	}
	if now := bucket.Puts(); now != puts {
		t.Errorf("nothing changed, and %d objects were put", now-puts)
	}

	b.write("a", "three")
	b.write("d", "four")
	b.remove("b/c")
	if p := b.pushes(); p.SentFiles != 2 || p.UnchangedFiles != 1 || p.StayingFiles != 1 || p.DeletedFiles != 0 {
		t.Errorf("some changed: %+v", p)
	}
	want := b.files()
	want["b/c"] = "two"
	b.wants(want)

	b.Delete = true
	put(t, bucket, "set/x", "somebody's")
	if p := b.pushes(); p.DeletedFiles != 1 || p.DeletedBytes != 3 || p.SentFiles != 0 || p.Strays.All != 1 || p.Strays.List[0] != "x" {
		t.Errorf("with deletes: %+v", p)
	}
	b.wants(b.files())
	if got := b.content("set/x"); got != "somebody's" {
		t.Errorf("what somebody else put is %q", got)
	}
}

func TestNothingToPush(t *testing.T) {
	b := newBench(t, &storetest.Fake{})
	ok(t, os.Mkdir(filepath.Join(b.root, "d"), 0o755))
	if _, err := b.push(); !errors.Is(err, data.ErrNothing) {
		t.Errorf("got %v", err)
	}
}

// TestNothingLeft holds that a source that is empty now, as one that is not mounted, takes nothing of its dataset away.
func TestNothingLeft(t *testing.T) {
	b := newBench(t, &storetest.Fake{})
	b.Delete = true
	b.write("a", "1")
	b.pushes()
	ok(t, os.Remove(filepath.Join(b.root, "a")))
	if _, err := b.push(); !errors.Is(err, data.ErrNothing) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(map[string]string{"a": "1"}, b.dataset()); diff != "" {
		t.Errorf("the dataset (-want +got):\n%s", diff)
	}
}

// TestMostIsGone holds that a source of which most is not there, as a part that is not mounted, takes nothing away unless that is meant.
func TestMostIsGone(t *testing.T) {
	b := newBench(t, &storetest.Fake{})
	b.Delete = true
	for i := range 5 {
		b.write(fmt.Sprintf("part/%d", i), "1")
	}
	b.pushes()
	b.MayShrink = false
	want := b.files()
	b.remove("part")
	b.write("new", "2")
	if p, err := b.push(); !errors.Is(err, data.ErrShrinks) || p.DeletedFiles != 0 || !strings.HasSuffix(err.Error(), "it has 5 files, and the source 1") {
		t.Errorf("got %v, %+v", err, p)
	}
	if diff := cmp.Diff(want, b.dataset()); diff != "" {
		t.Errorf("the dataset (-want +got):\n%s", diff)
	}
	b.write("new 2", "3")
	b.write("new 3", "3")
	if p := b.pushes(); p.DeletedFiles != 5 {
		t.Errorf("more than half are left: %+v", p)
	}
	b.wants(b.files())
}

// TestAnyPush has random trees pushed over and over, by pushes that die at random calls. In the end the dataset is the
// tree, and no file went twice.
func TestAnyPush(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 7))
			bucket := &frail{Fake: &storetest.Fake{PartBytes: 8}}
			b := newBench(t, bucket)
			b.Delete = true
			for range 4 {
				change(b, r)
				for range r.IntN(4) {
					bucket.revive(r.IntN(12), r.IntN(2) == 0)
					_, err := b.push()
					if err == nil {
						b.wants(b.files())
					}
				}
				bucket.revive(1<<30, false)
				p := b.pushes()
				b.wants(b.files())
				if p.Strays.All > 0 || p.Lost.All > 0 {
					t.Fatalf("strays and lost: %+v", p)
				}
			}
			if len(bucket.twice) > 0 {
				t.Errorf("put twice: %q", bucket.twice)
			}
		})
	}
}

// change changes some files of the source, and leaves one at least.
func change(b *bench, r *rand.Rand) {
	b.write("always", "here")
	for range r.IntN(12) {
		p := fmt.Sprintf("%d/%c", r.IntN(3), 'a'+r.IntN(4))
		if r.IntN(3) == 0 {
			b.remove(p)
			continue
		}
		b.write(p, fmt.Sprintf("%0*d", r.IntN(30), r.IntN(1000)))
		when := time.Unix(1e9+r.Int64N(1e6), r.Int64N(1e9))
		ok(b.t, os.Chtimes(filepath.Join(b.root, p), when, when))
	}
}

// TestPushChecksum has a file get other bytes under its old size and time: only a push that reads the bytes sees that.
func TestPushChecksum(t *testing.T) {
	bucket := &storetest.Fake{}
	b := newBench(t, bucket)
	b.write("a", "one")
	b.write("b", "two")
	ok(t, os.Chtimes(filepath.Join(b.root, "a"), time.Unix(1, 0), time.Unix(1, 0)))
	b.pushes()
	b.write("a", "eno")
	ok(t, os.Chtimes(filepath.Join(b.root, "a"), time.Unix(1, 0), time.Unix(1, 0)))
	if p := b.pushes(); p.UnchangedFiles != 2 || p.SentFiles != 0 || p.Different.All != 0 {
		t.Errorf("by size and time: %+v", p)
	}

	b.Checksum = true
	var steps []data.PushStep
	p, err := b.preview(func(s data.PushStep) { steps = append(steps, s) })
	if ok(t, err); len(steps) != 1 || steps[0].Path != "a" || steps[0].Deed != "send" || p.Different.All != 1 || p.UnchangedFiles != 1 {
		t.Errorf("the preview: %+v, %+v", steps, p)
	}
	if p := b.pushes(); p.UnchangedFiles != 1 || p.SentFiles != 1 || !p.Committed || fmt.Sprint(p.Different.List) != "[a]" {
		t.Errorf("by checksum: %+v", p)
	}
	b.wants(map[string]string{"a": "eno", "b": "two"})

	puts := bucket.Puts()
	if p := b.pushes(); p.UnchangedFiles != 2 || p.SentFiles != 0 || p.Committed || p.Different.All != 0 || bucket.Puts() != puts {
		t.Errorf("nothing differs: %+v, %d objects were put", p, bucket.Puts()-puts)
	}
	b.write("b", "three")
	if p := b.pushes(); p.SentFiles != 1 || p.Different.All != 0 || p.UnchangedFiles != 1 {
		t.Errorf("another size: %+v", p)
	}
	b.wants(b.files())
}
