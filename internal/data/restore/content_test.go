package restore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/restore"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// recorded is a file that torch, safetensors or numpy wrote.
func recorded(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../checkpoint/testdata/contents", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// trainer is a checkpoint of Hugging Face's Trainer with two shards.
func trainer(t testing.TB, dir string) files {
	shard, state := recorded(t, "model.safetensors"), recorded(t, "torch.pt")
	return files{
		dir + "/model-00001-of-00002.safetensors": shard, dir + "/model-00002-of-00002.safetensors": shard,
		dir + "/model.safetensors.index.json": `{"metadata": {"total_size": 1744}, "weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}`,
		dir + "/optimizer.pt":                 state, dir + "/scheduler.pt": state, dir + "/rng_state.pth": state, dir + "/training_args.bin": state,
		dir + "/config.json": "{}", dir + "/trainer_state.json": `{"global_step": 1}`,
	}
}

// TestContents has a newest checkpoint of which each file in turn is empty or cut off, with a marker beside it or without.
func TestContents(t *testing.T) {
	const torn = "it begins like a zip archive, and has no end"
	for _, c := range []struct {
		file, text, why string
	}{
		{"model-00002-of-00002.safetensors", "", "model-00002-of-00002.safetensors has 0 bytes"},
		{"model-00002-of-00002.safetensors", recorded(t, "model.safetensors")[:1000], "model-00002-of-00002.safetensors: it has 1000 bytes, and its header says 1032"},
		{"model-00002-of-00002.safetensors", recorded(t, "model.safetensors")[:50], "model-00002-of-00002.safetensors: it has 50 bytes, and its header alone 160"},
		{"model.safetensors.index.json", "", "model.safetensors.index.json has 0 bytes"},
		{"optimizer.pt", "", "optimizer.pt has 0 bytes"},
		{"optimizer.pt", recorded(t, "torch.pt")[:2200], "optimizer.pt: " + torn},
		{"rng_state.pth", recorded(t, "torch.pt")[:2], "rng_state.pth: " + torn},
		{"config.json", "", "config.json has 0 bytes"},
		{"trainer_state.json", `{"log_history": [`, "trainer_state.json: it is JSON without an end"},
	} {
		for _, marker := range []files{nil, {"m/checkpoint-2/_SUCCESS": "", "m/checkpoint-1/_SUCCESS": ""}} {
			t.Run(fmt.Sprintf("%s_of_%d_bytes_%d", c.file, len(c.text), len(marker)), func(t *testing.T) {
				fake := &storetest.Fake{}
				put(t, fake, join(trainer(t, "m/checkpoint-1"), trainer(t, "m/checkpoint-2"), marker, files{"m/checkpoint-2/" + c.file: c.text}))
				_, f, passed, err := choose(t, fake, "m", newest)
				if err != nil || f.Dir != "checkpoint-1" || f.Checked != 6 {
					t.Errorf("got %+v, %v", f, err)
				}
				if diff := cmp.Diff([]restore.Passed{{Checkpoint: "checkpoint-2", Why: c.why}}, passed); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestContents_of_unknown_forms has files of which nothing but their size can be judged, as the checkpoints of others may have: the
// newest lacks the bytes of one shard.
func TestContents_of_unknown_forms(t *testing.T) {
	of := func(dir string) files {
		made := trainer(t, dir)
		for _, name := range []string{"optimizer.pt", "scheduler.pt", "rng_state.pth", "config.json", "training_args.bin"} {
			made[dir+"/"+name] = strings.Repeat("x", 50)
		}
		return made
	}
	for _, marker := range []files{nil, {"m/checkpoint-200/_SUCCESS": "", "m/checkpoint-100/_SUCCESS": ""}} {
		fake := &storetest.Fake{}
		put(t, fake, join(of("m/checkpoint-100"), of("m/checkpoint-200"), marker, files{"m/checkpoint-200/model-00002-of-00002.safetensors": ""}))
		_, f, passed, err := choose(t, fake, "m", newest)
		if err != nil || f.Dir != "checkpoint-100" || len(passed) != 1 {
			t.Errorf("got %+v, %v, %v", f, passed, err)
		}
	}
}

// TestContents_single has the same for a checkpoint that is a file.
func TestContents_single(t *testing.T) {
	whole := recorded(t, "torch.pt")
	for _, c := range []struct {
		name, text, dir string
		checked         int
	}{
		{"whole", whole, "epoch=1-step=200.ckpt", 1},
		{"of_another_form", "weights", "epoch=1-step=200.ckpt", 0},
		{"empty", "", "epoch=0-step=100.ckpt", 1},
		{"cut_off", whole[:len(whole)-1], "epoch=0-step=100.ckpt", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := &storetest.Fake{}
			put(t, fake, files{"m/epoch=0-step=100.ckpt": whole, "m/epoch=1-step=200.ckpt": c.text})
			_, f, passed, err := choose(t, fake, "m", newest)
			if err != nil || f.Dir != c.dir || f.Checked != c.checked || f.Layout != "checkpoint file" || f.Proof != "an object is there whole or not at all" {
				t.Errorf("got %+v, passed over %v, %v", f, passed, err)
			}
		})
	}
}

// asking counts what is asked of a bucket.
type asking struct {
	store.Store
	gets, ranges atomic.Int64
}

func (a *asking) Get(ctx context.Context, key string) (io.ReadCloser, store.Object, error) {
	a.gets.Add(1)
	return a.Store.Get(ctx, key)
}

func (a *asking) Range(ctx context.Context, key string, from, size int64, version string) (io.ReadCloser, error) {
	a.ranges.Add(1)
	return a.Store.Range(ctx, key, from, size, version)
}

// TestContents_cost has a look at a whole checkpoint of nine files that read at most one part of each file, and the index twice.
func TestContents_cost(t *testing.T) {
	fake := &storetest.Fake{}
	put(t, fake, trainer(t, "m/checkpoint-1"))
	v, err := restore.Look(t.Context(), fake, "m", later())
	if err != nil {
		t.Fatal(err)
	}
	a := &asking{Store: fake}
	if _, _, err := restore.Through(v, a).Choose(t.Context(), newest); err != nil {
		t.Fatal(err)
	}
	if n := a.gets.Load() + a.ranges.Load(); n > 9 {
		t.Errorf("it asked %d times", n)
	}
}

// none is a store from which no part of an object can be read, for a reason.
type none struct {
	store.Store
	err error
}

func (n none) Get(context.Context, string) (io.ReadCloser, store.Object, error) {
	return nil, store.Object{}, n.err
}

func (n none) Range(context.Context, string, int64, int64, string) (io.ReadCloser, error) {
	return nil, n.err
}

// TestContents_unread has objects that cannot be read: what is gone, replaced or archived says nothing, and all else ends the look.
func TestContents_unread(t *testing.T) {
	fake := &storetest.Fake{}
	put(t, fake, trainer(t, "m/checkpoint-1"))
	v, err := restore.Look(t.Context(), fake, "m", later())
	if err != nil {
		t.Fatal(err)
	}
	for _, failed := range []error{store.ErrNotFound, store.ErrChanged, store.ErrArchived} {
		if f, _, err := restore.Through(v, none{fake, failed}).Choose(t.Context(), newest); err != nil || f.Checked != 0 {
			t.Errorf("%v: got %+v, %v", failed, f, err)
		}
	}
	if _, _, err := restore.Through(v, none{fake, store.ErrDenied}).Choose(t.Context(), newest); !errors.Is(err, store.ErrDenied) {
		t.Errorf("got %v", err)
	}
}

// TestContents_link has symbolic links as exports put them, in the place of files that are read: the link's path is no such file.
func TestContents_link(t *testing.T) {
	fake := &storetest.Fake{}
	put(t, fake, join(trainer(t, "m/checkpoint-1"), files{"m/checkpoint-1/model-00001-of-00002.safetensors": "-> ../../blobs/9f86d081884c7d65", "m/checkpoint-1/trainer_state.json": "-> ../state"}))
	if _, f, passed, err := choose(t, fake, "m", newest); err != nil || f.Checked != 5 {
		t.Errorf("got %+v, passed over %v, %v", f, passed, err)
	}
}

// replaced is a store in which each object was put anew since it was listed.
type replaced struct{ store.Store }

func (r replaced) List(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		for o, err := range r.Store.List(ctx, prefix) {
			if o.Version = "another"; !yield(o, err) {
				return
			}
		}
	}
}

func TestContents_replaced(t *testing.T) {
	fake := &storetest.Fake{}
	put(t, fake, files{"m/step-1/rank_0.pt": recorded(t, "torch.pt")})
	for want, s := range map[int]store.Store{0: replaced{fake}, 1: fake} {
		if _, f, _, err := choose(t, s, "m", newest); err != nil || f.Checked != want {
			t.Errorf("checked %d, want %d, %v", f.Checked, want, err)
		}
	}
}

// slow is a store of which each read takes a second.
type slow struct {
	store.Store
	now, most atomic.Int64
}

func (s *slow) Range(ctx context.Context, key string, from, size int64, version string) (io.ReadCloser, error) {
	now := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	<-time.After(time.Second)
	return s.Store.Range(ctx, key, from, size, version)
}

// TestContents_at_once reads several files at once, and not all.
func TestContents_at_once(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &storetest.Fake{}
		for n := range 50 {
			put(t, fake, files{fmt.Sprintf("m/step-1/rank_%d.pt", n): recorded(t, "torch.pt")})
		}
		s := &slow{Store: fake}
		if _, f, _, err := choose(t, s, "m", newest); err != nil || f.Checked != 50 || s.most.Load() != 16 {
			t.Errorf("checked %d, %d at once, %v", f.Checked, s.most.Load(), err)
		}
	})
}

// TestContents_damaged proves what it reads as a whole by its checksum.
func TestContents_damaged(t *testing.T) {
	for _, name := range []string{"m/step-1/.metadata", "m/step-1/model.safetensors"} {
		fake := &storetest.Fake{}
		put(t, fake, files{"m/step-1/.metadata": "__0_0.distcp", "m/step-1/__0_0.distcp": "w", "m/step-1/model.safetensors": recorded(t, "model.safetensors")})
		fake.Damage(name)
		if _, _, _, err := choose(t, fake, "m", newest); !errors.Is(err, store.ErrChecksum) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
