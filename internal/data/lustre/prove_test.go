package lustre_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/lustre"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// linked is a directory that is linked with a bucket of a real server.
type linked struct {
	t      *testing.T
	dir    string
	bucket store.Store
	*archive
}

func newLinked(t *testing.T) *linked {
	t.Helper()
	_, config := storetest.Stand(t)
	config.Bucket = "results"
	bucket, err := store.Open(t.Context(), config)
	if err == nil {
		err = bucket.MakeBucket(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return &linked{t, t.TempDir(), bucket, &archive{states: map[string]uint32{}}}
}

func (l *linked) at(path string) string { return filepath.Join(l.dir, path) }

// write makes a file in a state of Lustre's.
func (l *linked) write(path, text string, state uint32) {
	l.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(l.at(path)), 0o755), os.WriteFile(l.at(path), []byte(text), 0o644)); err != nil {
		l.t.Fatal(err)
	}
	l.states[l.at(path)] = state
}

// put is what FSx does.
func (l *linked) put(path, text string) {
	l.t.Helper()
	_, err := l.bucket.Put(l.t.Context(), store.Upload{Key: "runs/" + path, Body: bytes.NewReader([]byte(text)), SizeBytes: int64(len(text))})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *linked) proves(at string) (lustre.Proof, error) {
	return lustre.Client{Run: l.run}.Prove(l.t.Context(), l.at(at), &data.Compare{Dir: l.dir, Bucket: l.bucket, Prefix: "runs/"})
}

func (l *linked) is(at string, want lustre.Proof) {
	l.t.Helper()
	got, err := l.proves(at)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		l.t.Errorf("of %q: %v (-want +got):\n%s", at, err, diff)
	}
}

const exported, dirty, released = 0x09, 0x0b, 0x0d

func TestProve(t *testing.T) {
	l := newLinked(t)
	for _, path := range []string{"a", "deep/er/b", "left.tmp", ".muster/dataset.json", "odd\nname"} {
		l.write(path, "text of "+path, exported)
		l.put(path, "text of "+path)
	}
	l.write("empty", "", exported)
	l.put("empty", "")
	l.put("deep/", "")
	l.put("only in the bucket", "x")
	whole := lustre.Proof{Files: 6, Bytes: 86}
	l.is("", whole)
	l.is("deep", lustre.Proof{Files: 1, Bytes: 17})
	l.is("a", lustre.Proof{Files: 1, Bytes: 9})
	if !whole.Whole() {
		t.Error("what is proven is not whole")
	}

	t.Run("what_does_not_count", func(t *testing.T) {
		l := *l
		l.t = t
		l.write("log", "it is written to", dirty)
		l.put("log", "it")
		l.write("new", "since", 0)
		if err := os.Symlink("deep", l.at("latest")); err != nil {
			t.Fatal(err)
		}
		want := whole
		want.Changed, want.NotOrdinary = 2, 1
		l.is("", want)
		if want.Whole() {
			t.Error("a link that is not compared passes for proven")
		}
	})
	t.Run("released_files_are_not_read", func(t *testing.T) {
		l := *l
		l.t = t
		l.write("out/same", "zeros", released)
		l.put("out/same", "bytes")
		l.write("out/short", "zero", released)
		l.put("out/short", "bytes")
		l.write("out/none", "", released)
		l.is("out", lustre.Proof{Files: 1, Bytes: 5, Released: 1, Missing: 1, Different: 1, Problems: []data.Problem{
			{Path: l.at("out/none"), Why: "it is not in the bucket"}, {Path: l.at("out/short"), Why: "the file has 4 bytes, the object 5"},
		}})
	})
	t.Run("what_differs", func(t *testing.T) {
		l := *l
		l.t = t
		l.write("bad/missing", "x", exported)
		l.write("bad/other", "first", exported)
		l.put("bad/other", "other")
		for path, why := range map[string]string{"missing": "it is not in the bucket", "other": "the file has other bytes than the object"} {
			want := lustre.Proof{Different: 1, Problems: []data.Problem{{Path: l.at("bad/" + path), Why: why}}}
			if path == "missing" {
				want.Missing, want.Different = 1, 0
			}
			l.is("bad/"+path, want)
		}
	})
}

// TestProveLooksAgain is of files that are written while they are compared.
func TestProveLooksAgain(t *testing.T) {
	l := newLinked(t)
	l.write("again", "first", exported)
	l.put("again", "other")
	l.write("written", "first", exported)
	l.put("written", "other")
	var one sync.Mutex // guards looks and the states
	looks := map[string]int{}
	run := func(ctx context.Context, args ...string) (string, string, error) {
		one.Lock()
		defer one.Unlock()
		for _, p := range args[1:] {
			looks[p]++
			switch {
			case looks[p] == 2 && p == l.at("again"): // it was exported once more meanwhile
				l.put("again", "first")
			case looks[p] == 2:
				l.states[p] = dirty
			}
		}
		return l.run(ctx, args...)
	}
	got, err := lustre.Client{Run: run}.Prove(t.Context(), l.dir, &data.Compare{Dir: l.dir, Bucket: l.bucket, Prefix: "runs"})
	if diff := cmp.Diff(lustre.Proof{Files: 1, Bytes: 5, Changed: 1}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// barred is a bucket without rights, bare one that keeps no checksums.
type (
	barred struct{ store.Store }
	bare   struct{ store.Store }
)

func (barred) Head(context.Context, string) (store.Object, error) {
	return store.Object{}, errors.New("AccessDenied: no")
}

func (b bare) Head(ctx context.Context, key string) (store.Object, error) {
	o, err := b.Store.Head(ctx, key)
	o.CRC64NVME, o.SHA256 = "", ""
	return o, err
}

func TestProveWithoutRightsOrChecksums(t *testing.T) {
	l := newLinked(t)
	l.write("a", "first", exported)
	l.put("a", "other")
	whole := l.bucket
	l.bucket = bare{whole}
	l.is("", lustre.Proof{Files: 1, Bytes: 5, Unproven: 1})
	l.bucket = barred{whole}
	if got, err := l.proves(""); err == nil || !strings.Contains(err.Error(), "AccessDenied") || got.Files+got.Bad() != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestProveDoesNotBelieveMetadata is of an object whose metadata are those of one that was there before.
func TestProveDoesNotBelieveMetadata(t *testing.T) {
	l := newLinked(t)
	l.write("a", "first", exported)
	l.put("a", "first")
	l.bucket = stale{l.bucket}
	l.is("", lustre.Proof{Files: 1, Bytes: 5})
}

type stale struct{ store.Store }

func (s stale) Head(ctx context.Context, key string) (store.Object, error) {
	o, err := s.Store.Head(ctx, key)
	o.SHA256 = strings.Repeat("0", 64)
	return o, err
}

// TestExportedLeavesOutWhatIsGone is of a file that was deleted after its directory was read.
func TestExportedLeavesOutWhatIsGone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "brief")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	a := &archive{states: map[string]uint32{}}
	c := lustre.Client{Run: func(ctx context.Context, args ...string) (string, string, error) {
		if err := os.Remove(path); err != nil {
			return "", "", err
		}
		return a.run(ctx, args...)
	}}
	if e, err := c.Exported(t.Context(), dir); err != nil || e.Files != 0 || len(e.Failed) != 0 {
		t.Errorf("got %+v, %v", e, err)
	}
}
