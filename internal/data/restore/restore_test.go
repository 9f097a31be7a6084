package restore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/restore"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// files are by path, with content.
type files map[string]string

var newest = restore.Want{Step: checkpoint.NoStep}

// put fills a bucket as FSx for Lustre or another program does: nothing says how many files a checkpoint has.
func put(t *testing.T, s store.Store, all files) {
	t.Helper()
	for k, text := range all {
		u := store.Upload{Key: k, Body: strings.NewReader(text), SizeBytes: int64(len(text)), Meta: map[string]string{"file-mtime": "1000000000ns", "file-permissions": "0100640"}}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			u.Body, u.SizeBytes, u.Meta["file-permissions"] = strings.NewReader(target), int64(len(target)), "0120777"
		}
		if _, err := s.Put(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
}

// later is when nothing has changed for a day.
func later() time.Time { return time.Now().Add(24 * time.Hour) }

func choose(t *testing.T, s store.Store, prefix string, w restore.Want) (*restore.View, *restore.Found, []restore.Passed, error) {
	t.Helper()
	v, err := restore.Look(t.Context(), s, prefix, later())
	if err != nil {
		t.Fatal(err)
	}
	f, passed, err := v.Choose(t.Context(), w)
	return v, f, passed, err
}

// bring restores the newest whole checkpoint.
func bring(t *testing.T, s store.Store, prefix, dir string, w restore.Want) (restore.Brought, error) {
	t.Helper()
	v, f, _, err := choose(t, s, prefix, w)
	if err != nil {
		t.Fatal(err)
	}
	return (&restore.Bring{View: v, Found: f, Dir: dir}).Run(t.Context())
}

// in is what a directory has, with what is temporary.
func in(t *testing.T, dir string) files {
	t.Helper()
	all := files{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(filepath.Join(dir, p))
			all[p] = "-> " + target
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, p))
		all[p] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func want(t *testing.T, dir string, all files) {
	t.Helper()
	if diff := cmp.Diff(all, in(t, dir)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", dir, diff)
	}
}

func join(all ...files) files {
	sum := files{}
	for _, f := range all {
		maps.Copy(sum, f)
	}
	return sum
}

func TestPointers(t *testing.T) {
	for _, c := range []struct {
		name          string
		bucket, local files
		want          files
		states        []string
	}{
		{"as_it_is", files{"run/global_step5/mp_rank_00_model_states.pt": "w", "run/latest": "global_step5"}, nil,
			files{"run/global_step5/mp_rank_00_model_states.pt": "w", "run/latest": "global_step5"}, []string{restore.Written}},
		{"with_its_line", files{"run/ckpt-5/a": "w", "run/latest": "ckpt-5\n"}, nil, files{"run/ckpt-5/a": "w", "run/latest": "ckpt-5\n"}, []string{restore.Written}},
		{"one_that_names_a_torn_one", files{"run/step-5/.metadata": "__0_0.distcp", "run/step-5/__0_0.distcp": "w", "run/step-6/__0_0.distcp": "w", "run/latest": "./step-6"}, nil,
			files{"run/step-5/.metadata": "__0_0.distcp", "run/step-5/__0_0.distcp": "w", "run/latest": "step-5"}, []string{restore.Written}},
		{"megatron", files{"run/iter_0000005/common.pt": "c", "run/iter_0000005/.metadata": "m", "run/iter_0000005/metadata.json": "{}", "run/iter_0000006/common.pt": "c", "run/latest_checkpointed_iteration.txt": "6"}, nil,
			files{"run/iter_0000005/common.pt": "c", "run/iter_0000005/.metadata": "m", "run/iter_0000005/metadata.json": "{}", "run/latest_checkpointed_iteration.txt": "5"}, []string{restore.Written}},
		{"a_link", files{"run/ckpt-5/a": "w", "run/latest": "-> ckpt-5"}, nil, files{"run/ckpt-5/a": "w", "run/latest": "-> ckpt-5"}, []string{restore.Written}},
		{"one_that_leads_to_another", files{"run/ckpt-5/a": "w", "run/latest": "ckpt-5"}, files{"run/ckpt-9/a": "x", "run/latest": "ckpt-9"},
			files{"run/ckpt-5/a": "w", "run/ckpt-9/a": "x", "run/latest": "ckpt-9"}, []string{restore.Kept}},
		{"one_that_leads_nowhere", files{"run/ckpt-5/a": "w", "run/latest": "ckpt-5"}, files{"run/latest": "ckpt-9"}, files{"run/ckpt-5/a": "w", "run/latest": "ckpt-5"}, []string{restore.Written}},
		{"the_same", files{"run/ckpt-5/a": "w", "run/latest": "ckpt-5"}, files{"run/latest": "ckpt-5"}, files{"run/ckpt-5/a": "w", "run/latest": "ckpt-5"}, []string{restore.Same}},
		{"the_best_is_another_one", files{"run/ckpt-4/a": "w", "run/ckpt-5/a": "w", "run/best": "-> ckpt-4"}, nil, files{"run/ckpt-5/a": "w"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake, dir := &storetest.Fake{}, t.TempDir()
			put(t, fake, c.bucket)
			write(t, dir, c.local)
			done, err := bring(t, fake, "", dir, newest)
			if err != nil {
				t.Fatal(err)
			}
			want(t, dir, c.want)
			var states []string
			for _, p := range done.Pointers {
				states = append(states, p.State)
			}
			if !slices.Equal(states, c.states) {
				t.Errorf("the pointers are %+v", done.Pointers)
			}
		})
	}
}

func write(t *testing.T, dir string, all files) {
	t.Helper()
	for p, text := range all {
		full := filepath.Join(dir, p)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBring(t *testing.T) {
	fake, dir := &storetest.Fake{}, t.TempDir()
	bucket := files{"m/ckpt-5/a": "weights", "m/ckpt-5/sub/b": "moments", "m/ckpt-5/link": "-> sub/b", "m/ckpt-5/train.log": "log", "m/ckpt-5/.tmp-x": "rubbish", "m/latest": "ckpt-5"}
	put(t, fake, bucket)
	all := files{"ckpt-5/a": "weights", "ckpt-5/sub/b": "moments", "ckpt-5/link": "-> sub/b", "ckpt-5/train.log": "log", "latest": "ckpt-5"}
	done, err := bring(t, fake, "m", dir, newest)
	if err != nil || done.Files != 4 || done.Here || done.Unproven != 0 {
		t.Errorf("got %+v, %v", done, err)
	}
	want(t, dir, all)
	info, err := os.Stat(filepath.Join(dir, "ckpt-5/a"))
	if err != nil || info.Mode().Perm() != 0o640 || info.ModTime().Unix() != 1 {
		t.Errorf("it is %v of %v, %v", info.Mode(), info.ModTime(), err)
	}
	if done, err = bring(t, fake, "m", dir, newest); err != nil || !done.Here || done.Files != 0 {
		t.Errorf("again, got %+v, %v", done, err)
	}
	write(t, dir, files{"ckpt-5/a": "weighte"})
	if _, err = bring(t, fake, "m", dir, newest); !errors.Is(err, restore.ErrDiffers) {
		t.Errorf("over another one, got %v", err)
	}
	v, f, _, err := choose(t, fake, "m", newest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&restore.Bring{View: v, Found: f, Dir: dir, Replace: true}).Run(t.Context()); err != nil {
		t.Error(err)
	}
	want(t, dir, all)
}

func TestBring_itself(t *testing.T) {
	fake, dir := &storetest.Fake{}, filepath.Join(t.TempDir(), "here")
	put(t, fake, files{"m/step-3/.metadata": "__0_0.distcp", "m/step-3/__0_0.distcp": "a"})
	if _, err := bring(t, fake, "m/step-3", dir, newest); err != nil {
		t.Fatal(err)
	}
	want(t, dir, files{".metadata": "__0_0.distcp", "__0_0.distcp": "a"})
}

func TestBring_refuses(t *testing.T) {
	for name, bucket := range map[string]files{
		"a_link_outside":            {"m/ckpt-5/a": "w", "m/ckpt-5/b": "-> ../../../etc/passwd"},
		"a_link_to_an_absolute_one": {"m/ckpt-5/a": "w", "m/ckpt-5/b": "-> /etc/passwd"},
	} {
		t.Run(name, func(t *testing.T) {
			fake, dir := &storetest.Fake{}, t.TempDir()
			put(t, fake, bucket)
			done, err := bring(t, fake, "m", dir, newest)
			if _, there := os.Lstat(filepath.Join(dir, "ckpt-5")); err == nil || there == nil {
				t.Errorf("got %+v, %v; %v", done, err, in(t, dir))
			}
		})
	}
}

func TestBring_damaged(t *testing.T) {
	fake, dir := &storetest.Fake{}, t.TempDir()
	put(t, fake, files{"m/ckpt-5/a": "weights", "m/ckpt-5/b": "moments"})
	fake.Damage("m/ckpt-5/b")
	if _, err := bring(t, fake, "m", dir, newest); !errors.Is(err, store.ErrChecksum) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ckpt-5")); err == nil {
		t.Error("it has its name")
	}
}

// dying is a store whose process is killed after some reads.
type dying struct {
	store.Store
	left int
	kill context.CancelFunc
}

func (d *dying) Get(ctx context.Context, key string) (io.ReadCloser, store.Object, error) {
	if d.left--; d.left < 0 {
		d.kill()
		return nil, store.Object{}, errors.New("killed")
	}
	return d.Store.Get(ctx, key)
}

// TestKilled ends a restore after each of its reads: there is no checkpoint of that name and no pointer until all is there,
// and what was proven does not come again.
func TestKilled(t *testing.T) {
	fake, dir := &storetest.Fake{}, t.TempDir()
	bucket, all := files{"m/latest": "ckpt-5"}, files{"latest": "ckpt-5"}
	for n := range 6 {
		bucket[fmt.Sprintf("m/ckpt-5/part-%d", n)] = fmt.Sprint("weights ", n)
		all[fmt.Sprintf("ckpt-5/part-%d", n)] = fmt.Sprint("weights ", n)
	}
	put(t, fake, bucket)
	for n := range 6 {
		v, f, _, err := choose(t, fake, "m", newest)
		if err != nil {
			t.Fatal(err)
		}
		ctx, kill := context.WithCancel(t.Context())
		through := restore.Through(v, &oneByOne{Store: &dying{Store: fake, left: 1, kill: kill}})
		done, err := (&restore.Bring{View: through, Found: f, Dir: dir}).Run(ctx)
		kill()
		if came := strings.Count(fmt.Sprint(slices.Collect(maps.Keys(in(t, dir)))), "/part-"); n < 5 && (err == nil || came < n) {
			t.Errorf("after the run %d, of which %+v, %d files are there, %v", n, done, came, err)
		}
		if _, there := os.Stat(filepath.Join(dir, "ckpt-5")); (there == nil) != (err == nil) {
			t.Errorf("after %v, it is %v", err, there)
		}
	}
	if _, err := bring(t, fake, "m", dir, newest); err != nil {
		t.Fatal(err)
	}
	want(t, dir, all)
}

// oneByOne lets one read at a time through.
type oneByOne struct {
	store.Store
	mu sync.Mutex
}

func (o *oneByOne) Get(ctx context.Context, key string) (io.ReadCloser, store.Object, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Store.Get(ctx, key)
}

// TestLarge has a file that comes in parts. A run is killed in the midst of them; the next one reads what is there, and finds
// what was damaged meanwhile.
func TestLarge(t *testing.T) {
	fake, dir := &storetest.Fake{}, t.TempDir()
	text := strings.Repeat("0123456789abcdef", 4<<20) + strings.Repeat("rest", 9<<20)
	put(t, fake, files{"m/ckpt-5/a": text})
	v, f, _, err := choose(t, fake, "m", newest)
	if err != nil {
		t.Fatal(err)
	}
	ranges := &counted{Store: fake, most: 2}
	_, err = (&restore.Bring{View: restore.Through(v, ranges), Found: f, Dir: dir}).Run(t.Context())
	if err == nil {
		t.Fatal("it was not cut off")
	}
	began := ranges.ranges
	ranges.most = 100
	if _, err = (&restore.Bring{View: restore.Through(v, ranges), Found: f, Dir: dir}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := ranges.ranges; all > began+3 {
		t.Errorf("after %d ranges there came %d more, of 4", began, all-began)
	}
	if in(t, dir)["ckpt-5/a"] != text {
		t.Error("it is not what was put")
	}
}

// counted lets so many ranges through.
type counted struct {
	store.Store
	mu           sync.Mutex
	ranges, most int
}

func (c *counted) Range(ctx context.Context, key string, from, size int64, version string) (io.ReadCloser, error) {
	c.mu.Lock()
	c.ranges++
	over := c.ranges > c.most
	c.mu.Unlock()
	if over {
		return nil, errors.New("killed")
	}
	return c.Store.Range(ctx, key, from, size, version)
}
