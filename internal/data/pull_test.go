package data_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

func fake() *storetest.Fake { return &storetest.Fake{PartBytes: mebi} }

func TestPullBringsAll(t *testing.T) {
	for _, prefix := range []string{"", "datasets/one"} {
		bucket, dir := fake(), filepath.Join(t.TempDir(), "to", "here")
		some().put(t, bucket, prefix)
		got := pulled(t, bucket, prefix, dir)
		some().is(t, dir)
		if want := int64(len(some())); got.Files != want || got.KeptFiles != 0 || got.Problems.All != 0 {
			t.Errorf("got %+v", got)
		}
		info, err := os.Stat(filepath.Join(dir, "large.bin"))
		if err != nil || !info.ModTime().Equal(stocked) || info.Mode() != 0o640 {
			t.Errorf("large.bin is of %v with mode %v, %v", info.ModTime(), info.Mode(), err)
		}
		if again := pulled(t, bucket, prefix, dir); again.Files != 0 || again.KeptFiles != got.Files || again.KeptBytes != got.Bytes || !again.Settled {
			t.Errorf("once more it got %+v", again)
		}
	}
}

func TestPullFetchesWhatChanged(t *testing.T) {
	bucket, dir, files := fake(), t.TempDir(), some()
	files.put(t, bucket, "p")
	pulled(t, bucket, "p", dir)
	at := filepath.Join(dir, "deep/er/file")
	fine(t, os.WriteFile(at, []byte("other"), 0o600), os.Remove(filepath.Join(dir, "a")), os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	fine(t, os.Remove(filepath.Join(dir, "empty")), os.Symlink("mine", filepath.Join(dir, "empty")))
	if got := pulled(t, bucket, "p", dir); got.Files != 3 || got.Problems.All != 0 {
		t.Errorf("got %+v", got)
	}
	files["mine"] = nil
	files.is(t, dir)
}

func TestLookChangesNothing(t *testing.T) {
	bucket, dir := fake(), filepath.Join(t.TempDir(), "none")
	some().put(t, bucket, "p")
	todo, err := (&data.Pull{Dataset: opened(t, bucket, "p"), Dir: dir}).Look(t.Context(), func(string) error { return nil })
	if err != nil || todo.Files != int64(len(some())) || todo.FreeBytes <= 0 {
		t.Errorf("got %+v, %v", todo, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it made the directory")
	}
}

func TestPullTakesWhatIsWanted(t *testing.T) {
	bucket, dir := fake(), t.TempDir()
	some().put(t, bucket, "p")
	p := data.Pull{Dataset: opened(t, bucket, "p"), Dir: dir, Wanted: func(path string, _ bool) bool { return path == "a" }}
	if got, err := p.Run(t.Context()); err != nil || got.Files != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	stock{"a": []byte("first")}.is(t, dir)
}

func TestOpenSaysWhatIsThere(t *testing.T) {
	bucket := fake()
	if _, err := data.Open(t.Context(), bucket, "p", "s3://b/p"); !errors.Is(err, data.ErrNone) {
		t.Errorf("got %v", err)
	}
	files := stock{"a": nil}
	records := files.objects(t, bucket, "p")
	files.commit(t, bucket, "p", manifest.Changing, records)
	_, err := data.Open(t.Context(), bucket, "p", "s3://b/p")
	if !errors.Is(err, data.ErrChanging) || !strings.Contains(err.Error(), "run that `muster data push` again") {
		t.Errorf("got %v", err)
	}
	files.commit(t, bucket, "p", manifest.Whole, records)
	for o := range bucket.List(t.Context(), "p/.muster/manifests/") {
		bucket.Damage(o.Key)
	}
	if _, err = data.Open(t.Context(), bucket, "p", "s3://b/p"); !errors.Is(err, store.ErrChecksum) {
		t.Errorf("got %v", err)
	}
}

func TestPullSaysWhatStandsInTheWay(t *testing.T) {
	bucket, dir, files := fake(), t.TempDir(), some()
	files["pipe"], files["out/of/it"] = []byte("x"), []byte("y")
	files.put(t, bucket, "p")
	outside := t.TempDir()
	fine(t, os.Mkdir(filepath.Join(dir, "a"), 0o755), os.WriteFile(filepath.Join(dir, "deep"), nil, 0o644), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	fine(t, os.Symlink(outside, filepath.Join(dir, "out")))
	got := pulled(t, bucket, "p", dir)
	var said []string
	for _, p := range got.Problems.List {
		said = append(said, p.Path+": "+p.Why)
	}
	slices.Sort(said)
	want := []string{
		"a: a directory is there, where the dataset has a file",
		"deep/er/and/deeper/file: not a directory",
		"deep/er/file: not a directory",
		"out/of/it: path escapes from parent",
		"pipe: something is there that is no file",
	}
	if !slices.Equal(said, want) || got.Problems.All != 5 || got.Files != int64(len(files)-5) {
		t.Errorf("got %q, %+v", said, got.Tally)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("it wrote outside: %v", left)
	}
}

// TestPullWritesToNothingElse holds that what has the name that a file is written to first is not written to, if it leads
// to another file.
func TestPullWritesToNothingElse(t *testing.T) {
	for name, plant := range map[string]func(precious, tmp string) error{
		"link":      os.Symlink,
		"hard_link": os.Link,
		"pipe":      func(_, tmp string) error { return syscall.Mkfifo(tmp, 0o644) },
		"directory": func(_, tmp string) error { return os.Mkdir(tmp, 0o755) },
		"leftover":  func(_, tmp string) error { return os.WriteFile(tmp, []byte("more than the file has"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			bucket, dir, files := fake(), t.TempDir(), stock{"f": []byte("content")}
			files.put(t, bucket, "p")
			sum := sha256.Sum256([]byte("f"))
			precious := filepath.Join(dir, "precious")
			fine(t, os.WriteFile(precious, []byte("precious"), 0o644), plant(precious, filepath.Join(dir, ".muster-"+hex.EncodeToString(sum[:12])+".tmp")))
			if got := pulled(t, bucket, "p", dir); got.Files != 1 || got.Problems.All != 0 {
				t.Errorf("got %+v", got)
			}
			fine(t, os.Chtimes(precious, stocked, stocked), os.Chmod(precious, 0o640))
			files["precious"] = []byte("precious")
			files.is(t, dir)
		})
	}
}

func TestPullNeverGivesDamageAName(t *testing.T) {
	bucket, dir, files := fake(), t.TempDir(), some()
	files.put(t, bucket, "p")
	for _, path := range []string{"a", "large.bin"} {
		bucket.Damage("p/" + path)
		delete(files, path)
	}
	got := pulled(t, bucket, "p", dir)
	files.is(t, dir)
	if got.Problems.All != 2 || !strings.Contains(got.Problems.List[0].Why, "not those that were pushed") {
		t.Errorf("got %+v", got.Problems)
	}
}

func TestPullTellsAReplacedObjectFromAReplacedDataset(t *testing.T) {
	bucket, files := fake(), some()
	files.put(t, bucket, "p")
	d := opened(t, bucket, "p")
	puts(t, bucket, "p/a", []byte("other"))
	fine(t, bucket.Delete(t.Context(), "p/deep/er/file"), bucket.Delete(t.Context(), "p/zeros"))
	dir := t.TempDir()
	got, err := (&data.Pull{Dataset: d, Dir: dir}).Run(t.Context())
	if err != nil || got.Problems.All != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, path := range []string{"a", "zeros", "deep/er/file"} {
		delete(files, path)
	}
	files.is(t, dir)
	stock{"b": nil}.put(t, bucket, "p")
	if _, err = (&data.Pull{Dataset: d, Dir: t.TempDir()}).Run(t.Context()); !errors.Is(err, data.ErrReplaced) {
		t.Errorf("got %v", err)
	}
}

func TestPullOnlyOneAtATime(t *testing.T) {
	bucket, dir := fake(), t.TempDir()
	some().put(t, bucket, "p")
	f, err := os.Open(dir)
	fine(t, err, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	_, err = (&data.Pull{Dataset: opened(t, bucket, "p"), Dir: dir}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "another muster brings files to "+dir) {
		t.Errorf("got %v", err)
	}
	fine(t, f.Close())
	pulled(t, bucket, "p", dir)
}

func TestPullKeepsHoles(t *testing.T) {
	bucket, dir := fake(), t.TempDir()
	stock{"in parts": make([]byte, 8*mebi), "whole": make([]byte, mebi/2)}.put(t, bucket, "p")
	pulled(t, bucket, "p", dir)
	for _, name := range []string{"in parts", "whole"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Sys().(*syscall.Stat_t).Blocks > 16 {
			t.Errorf("%s takes %d blocks, %v", name, info.Sys().(*syscall.Stat_t).Blocks, err)
		}
	}
}

// spoiler is a bucket on the way to which something happens.
type spoiler struct {
	store.Store
	body func(key string, from int64, body io.Reader) io.Reader
}

func (s spoiler) Range(ctx context.Context, key string, from, size int64, version string) (io.ReadCloser, error) {
	body, err := s.Store.Range(ctx, key, from, size, version)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{s.body(key, from, body), body}, nil
}

// flips is a reader whose first byte has another first bit.
type flips struct {
	io.Reader
	done bool
}

func (f *flips) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if n > 0 && !f.done {
		b[0] ^= 1
		f.done = true
	}
	return n, err
}

func TestPullFetchesDamagedPartsAloneAgain(t *testing.T) {
	bucket, dir, files := fake(), t.TempDir(), some()
	files.put(t, bucket, "p")
	var asked, flipped atomic.Int64
	way := spoiler{bucket, func(_ string, _ int64, body io.Reader) io.Reader {
		if asked.Add(1)%3 == 1 {
			flipped.Add(1)
			return &flips{Reader: body}
		}
		return body
	}}
	p := data.Pull{Dataset: opened(t, way, "p"), Dir: dir, Progress: &data.Progress{}}
	got, err := p.Run(t.Context())
	if err != nil || got.Problems.All != 0 {
		t.Fatalf("got %+v, %v", got, err)
	}
	files.is(t, dir)
	step := p.Progress.Look()
	if step.Bytes != got.Bytes || flipped.Load() < 3 {
		t.Errorf("it told of %d bytes, of %d; %d were flipped", step.Bytes, got.Bytes, flipped.Load())
	}
}

func TestPullGoesOn(t *testing.T) {
	bucket, dir, files := fake(), t.TempDir(), stock{"large": random(9, 9*mebi+5), "large and sparse": append(make([]byte, 6*mebi), 1)}
	files.put(t, bucket, "p")
	why := errors.New("the line is cut")
	for cut := int64(1); ; cut++ {
		var fetched atomic.Int64
		way := spoiler{bucket, func(_ string, from int64, body io.Reader) io.Reader {
			if fetched.Add(1) > 2 {
				return io.MultiReader(io.LimitReader(body, 1000), failing{why})
			}
			return body
		}}
		_, err := (&data.Pull{Dataset: opened(t, way, "p"), Dir: dir}).Run(t.Context())
		if err == nil {
			break
		}
		if !errors.Is(err, why) || cut > 20 {
			t.Fatalf("the %d. time: %v", cut, err)
		}
		if entries, _ := filepath.Glob(filepath.Join(dir, "large*")); len(entries) > 1 {
			t.Fatal("both have their names already")
		}
	}
	files.is(t, dir)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func fine(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestPullDeletesWhatTheDatasetLacks(t *testing.T) {
	bucket, dir, files := fake(), t.TempDir(), some()
	files.put(t, bucket, "p")
	pulled(t, bucket, "p", dir)
	for _, path := range []string{"A", "deep/er/aaa", "deep/zzz", "zzz"} {
		fine(t, os.WriteFile(filepath.Join(dir, path), []byte("mine"), 0o644))
	}
	fine(t, os.Symlink("a", filepath.Join(dir, "link")))
	p := &data.Pull{Dataset: opened(t, bucket, "p"), Dir: dir, Wanted: func(path string, _ bool) bool { return path != "zzz" }}
	var extra []string
	for f, err := range p.Extra(t.Context()) {
		fine(t, err)
		extra = append(extra, f.Path)
	}
	if !slices.Equal(extra, []string{"A", "deep/er/aaa", "deep/zzz"}) {
		t.Errorf("it lacks %q", extra)
	}
	if n, _, err := p.Delete(t.Context(), stocked); err != nil || n != 0 {
		t.Errorf("it deleted %d files that came after the question, %v", n, err)
	}
	if n, bytes, err := p.Delete(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 3 || bytes != 12 {
		t.Errorf("deleted %d, %d bytes, %v", n, bytes, err)
	}
	fine(t, os.Remove(filepath.Join(dir, "link")))
	files["zzz"] = []byte("mine")
	files.is(t, dir)
}

// archived is a place that has some objects in an archive.
type archived struct {
	*storetest.Fake
	key string
}

func (a archived) Range(ctx context.Context, key string, from, size int64, version string) (io.ReadCloser, error) {
	if key == a.key {
		return nil, fmt.Errorf("get %s: %w", key, store.ErrArchived)
	}
	return a.Fake.Range(ctx, key, from, size, version)
}

func TestArchivedObjectsHoldUpNoOther(t *testing.T) {
	bucket, files := archived{fake(), "p/b"}, stock{"a": []byte("1"), "b": []byte("2"), "c": []byte("3")}
	files.put(t, bucket, "p")
	dir := t.TempDir()
	got, err := (&data.Pull{Dataset: opened(t, bucket, "p"), Dir: dir}).Run(t.Context())
	if fine(t, err); got.Files != 2 || got.Problems.All != 1 || !strings.HasPrefix(says(got.Problems), "b: it is archived (GLACIER") {
		t.Errorf("got %+v", got)
	}
	full, err := (&data.Verify{Dataset: opened(t, bucket, "p")}).Full(t.Context())
	if fine(t, err); full.Files != 2 || full.Problems.All != 1 {
		t.Errorf("got %+v", full)
	}
	fine(t, os.WriteFile(filepath.Join(dir, "b"), []byte("2"), 0o644))
	compared, err := (&data.Compare{Dir: dir, Bucket: bucket, Prefix: "p", Full: true}).Run(t.Context())
	if fine(t, err); compared.Files != 2 || compared.Different.All != 1 {
		t.Errorf("got %+v", compared)
	}
}
