package restore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/restore"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// marked are the files of four checkpoints of one run, by what is wrong with them, and what is said of each that is passed over.
var marked = map[string]struct {
	files files
	why   string
}{
	"whole":           {files{"model.bin": "w", "COMPLETE": ""}, ""},
	"unmarked":        {files{"model.bin": "w"}, "COMPLETE is not there, which others of its run have"},
	"unmarked_less":   {files{"rank_0.pt": "w"}, "COMPLETE is not there, which others of its run have"},
	"marked_but_torn": {files{"model-00001-of-00002.bin": "w", "COMPLETE": ""}, "model-00002-of-00002.bin is not there"},
}

// TestMarker has checkpoints in every order: the whole one is taken, and those that are newer are passed over.
func TestMarker(t *testing.T) {
	for order := range orders(slices.Sorted(maps.Keys(marked))) {
		t.Run(strings.Join(order, "_"), func(t *testing.T) {
			fake, bucket := &storetest.Fake{}, files{}
			var dir string
			var passed []restore.Passed
			for i, kind := range order { // the newest first
				at := fmt.Sprintf("step-%d00", 4-i)
				for p, text := range marked[kind].files {
					bucket["m/"+at+"/"+p] = text
				}
				switch {
				case kind == "whole":
					dir = at
				case dir == "":
					passed = append(passed, restore.Passed{Checkpoint: at, Why: marked[kind].why})
				}
			}
			put(t, fake, bucket)
			_, f, got, err := choose(t, fake, "m", newest)
			if err != nil || f.Dir != dir || f.Proof != "COMPLETE, which is written last, is there" {
				t.Errorf("got %+v, %v; want %s", f, err, dir)
			}
			if diff := cmp.Diff(passed, got); diff != "" {
				t.Errorf("passed over (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMarker_of_another_run has a marker in the directory of one model, which says nothing of another's, and one that is no
// checkpoint's own.
func TestMarker_of_another_run(t *testing.T) {
	for name, other := range map[string]string{"another_run": "m/b/step-1/COMPLETE", "of_the_run": "m/a/COMPLETE", "of_a_part": "m/a/step-1/sub/COMPLETE"} {
		t.Run(name, func(t *testing.T) {
			fake := &storetest.Fake{}
			put(t, fake, files{"m/a/step-1/model.bin": "w", "m/a/step-2/model.bin": "w", "m/b/step-1/model.bin": "w", other: ""})
			if _, f, passed, err := choose(t, fake, "m", restore.Want{Name: "a/step-2", Step: checkpoint.NoStep}); err != nil || f.Dir != "a/step-2" {
				t.Errorf("got %+v, passed over %v, %v", f, passed, err)
			}
		})
	}
}

// orders yields every order of these.
func orders(all []string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		if len(all) == 0 {
			yield(nil)
			return
		}
		for i, first := range all {
			for rest := range orders(slices.Delete(slices.Clone(all), i, i+1)) {
				if !yield(append([]string{first}, rest...)) {
					return
				}
			}
		}
	}
}

// sent is an object as an export puts it: it says how many files its checkpoint has.
type sent struct {
	path  string
	parts string
	after float64 // seconds
}

// TestSaid has checkpoints that say how many files they have.
func TestSaid(t *testing.T) {
	for _, c := range []struct {
		name  string
		sent  []sent
		proof string
		why   string // it is passed over
	}{
		{"all_there", []sent{{"a", "2", 0}, {"b", "2", 1}}, "all of its 2 files are there", ""},
		{"one_missing", []sent{{"a", "3", 0}, {"b", "3", 1}}, "", "2 of its 3 files are there"},
		{"one_missing_beside_a_marker", []sent{{"a", "3", 0}, {"COMPLETE", "3", 1}}, "", "2 of its 3 files are there"},
		{"the_most_counts", []sent{{"a", "3", 0}, {"b", "2", 0}}, "", "2 of its 3 files are there"},
		{"a_log_is_no_part", []sent{{"a", "2", 0}, {"train.log", "", 1}}, "", "1 of its 2 files are there"},
		{"fewer_than_there_are", []sent{{"a", "1", 0}, {"b", "1", 1}}, "all of its 1 file are there", ""},
		{"one_of_one_second", []sent{{"a", "2", 5}, {"b", "", 5}}, "all of its 2 files are there", ""},
		{"long_ago", []sent{{"a", "12", 0}, {"b", "", 1}, {"c", "", 2}, {"d", "", 3}, {"e", "", 4}, {"f", "", 5}, {"g", "", 6}, {"h", "", 7}, {"i", "", 8}}, "nothing of it came in the last 24 h 0 min; it says nothing of itself", ""},
		{"no_number", []sent{{"a", "many", 0}}, "nothing of it came in the last 24 h 0 min; it says nothing of itself", ""},
		{"sent_again", []sent{{"COMPLETE", "2", 0}, {"a", "2", 2}}, "", "a was put after COMPLETE, which comes last: it is being sent again"},
		{"sent_in_its_second", []sent{{"COMPLETE", "2", 0.2}, {"a", "2", 0.9}}, "all of its 2 files are there", ""},
		{"one_seal_after_the_other", []sent{{"__0_0.distcp", "3", 0}, {".metadata", "3", 2}, {"COMPLETE", "3", 4}}, "all of its 3 files are there", ""},
		{"logs_that_came_last", []sent{{"a", "1", 0}, {"1.log", "", 1}, {"2.log", "", 1}, {"3.log", "", 1}, {"4.log", "", 1}, {"5.log", "", 1}, {"6.log", "", 1}, {"7.log", "", 1}, {"8.log", "", 1}}, "all of its 1 file are there", ""},
		{"a_log_that_came_later", []sent{{"a", "2", 0}, {"COMPLETE", "2", 1}, {"train.log", "", 9}}, "all of its 2 files are there", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
			fake := sentTo(t, began, c.sent)
			v, err := restore.Look(t.Context(), fake, "m", began.Add(24*time.Hour+8*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			f, passed, err := v.Choose(t.Context(), newest)
			if c.why != "" {
				if !errors.Is(err, restore.ErrNone) || len(passed) != 1 || passed[0].Why != c.why || passed[0].Doubt {
					t.Errorf("passed over %+v, %v", passed, err)
				}
				return
			}
			if err != nil || f.Proof != c.proof {
				t.Errorf("got %+v, passed over %v, %v", f, passed, err)
			}
		})
	}
}

// TestSaid_and_the_one_before has a checkpoint that says how many files it has beside an older one that has more. Where nothing in
// it says that it is whole, and nothing names it, a kind of file that it does not have is a doubt.
func TestSaid_and_the_one_before(t *testing.T) {
	before := files{"m/step-1/model.bin": "a", "m/step-1/optimizer.bin": "b", "m/step-1/rank_0": "r", "m/step-1/rank_1": "r"}
	for _, c := range []struct {
		name    string
		beside  files
		of      []string
		dir     string
		because string
	}{
		{"of_a_kind_less", nil, []string{"model.bin", "rank_0", "rank_1"}, "step-1", "it has no optimizer.bin, which step-1 has"},
		{"of_a_kind_less_and_named", files{"m/latest": "step-2"}, []string{"model.bin", "rank_0", "rank_1"}, "step-2", ""},
		{"of_a_kind_less_with_a_marker", files{"m/step-1/COMPLETE": ""}, []string{"model.bin", "rank_0", "rank_1", "COMPLETE"}, "step-2", ""},
		{"without_a_marker_and_named", files{"m/step-1/COMPLETE": "", "m/latest": "step-2"}, []string{"model.bin", "optimizer.bin", "rank_0", "rank_1"}, "step-2", ""},
		{"of_a_rank_less", nil, []string{"model.bin", "optimizer.bin", "rank_0"}, "step-2", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := &storetest.Fake{}
			put(t, fake, join(before, c.beside))
			for _, p := range c.of {
				u := store.Upload{Key: "m/step-2/" + p, Body: strings.NewReader("w"), SizeBytes: 1, Meta: map[string]string{checkpoint.MetaParts: fmt.Sprint(len(c.of))}}
				if _, err := fake.Put(t.Context(), u); err != nil {
					t.Fatal(err)
				}
			}
			_, f, passed, err := choose(t, fake, "m", newest)
			if err != nil || f.Dir != c.dir || len(passed) > 0 != (c.because != "") || len(passed) > 0 && passed[0].Why != c.because {
				t.Errorf("got %+v, passed over %v, %v", f, passed, err)
			}
		})
	}
}

// TestSaid_unsure has a checkpoint of which all files are there that its directory had, which was too few: the program was killed before
// it wrote its states.
func TestSaid_unsure(t *testing.T) {
	began := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	var all []sent
	for _, name := range []string{"pytorch_model.bin", "training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json"} {
		all = append(all, sent{"m/checkpoint-1/" + name, "6", 0})
	}
	for _, name := range []string{"pytorch_model.bin", "training_args.bin"} {
		all = append(all, sent{"m/checkpoint-2/" + name, "2", 0})
	}
	v, err := restore.Look(t.Context(), sentTo(t, began, all), "m", began.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	f, passed, err := v.Choose(t.Context(), newest)
	if err != nil || f.Dir != "checkpoint-1" || len(passed) != 1 || passed[0].Why != "it has no optimizer.pt, which checkpoint-1 has" {
		t.Errorf("got %+v, passed over %+v, %v", f, passed, err)
	}
}

func sentTo(t *testing.T, began time.Time, all []sent) *storetest.Fake {
	t.Helper()
	now := began
	fake := &storetest.Fake{Now: func() time.Time { return now }}
	for _, s := range all {
		now = began.Add(time.Duration(s.after * float64(time.Second)))
		text := "__0_0.distcp" // as a .metadata names it
		if strings.HasSuffix(s.path, ".json") {
			text = "{}"
		}
		key := "m/step-1/" + s.path
		if strings.HasPrefix(s.path, "m/") {
			key = s.path
		}
		u := store.Upload{Key: key, Body: strings.NewReader(text), SizeBytes: int64(len(text))}
		if s.parts != "" {
			u.Meta = map[string]string{checkpoint.MetaParts: s.parts}
		}
		if _, err := fake.Put(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	return fake
}

// ill is a store in which one object is gone since it was listed, or cannot be read.
type ill struct {
	store.Store
	key string
	err error
}

func (i ill) Head(ctx context.Context, key string) (store.Object, error) {
	if key == i.key {
		return store.Object{}, i.err
	}
	return i.Store.Head(ctx, key)
}

func (i ill) Get(ctx context.Context, key string) (io.ReadCloser, store.Object, error) {
	if key == i.key {
		return nil, store.Object{}, i.err
	}
	return i.Store.Get(ctx, key)
}

// TestGoes has an object that goes while the checkpoint is looked at, which ends nothing, and one that cannot be read, which does.
func TestGoes(t *testing.T) {
	denied := errors.New("denied")
	for name, key := range map[string]string{"head": "m/step-1/__0_0.distcp", "begin": "m/step-1/.metadata", "single": "m/step=1.ckpt"} {
		t.Run(name, func(t *testing.T) {
			fake := &storetest.Fake{}
			if name == "single" {
				put(t, fake, files{key: "w"})
			} else {
				put(t, fake, files{"m/step-1/__0_0.distcp": "w", "m/step-1/.metadata": "__0_0.distcp"})
			}
			v, err := restore.Look(t.Context(), fake, "m", later())
			if err != nil {
				t.Fatal(err)
			}
			_, passed, err := restore.Through(v, ill{fake, key, store.ErrNotFound}).Choose(t.Context(), newest)
			if name == "single" && (!errors.Is(err, restore.ErrNone) || passed[0].Why != "it went while it was looked at") || name != "single" && err != nil {
				t.Errorf("gone: passed over %v, %v", passed, err)
			}
			if _, _, err = restore.Through(v, ill{fake, key, denied}).Choose(t.Context(), newest); !errors.Is(err, denied) {
				t.Errorf("denied: %v", err)
			}
		})
	}
}

// TestNewestFile has the file that came last before another one in the order of keys.
func TestNewestFile(t *testing.T) {
	began := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	v, err := restore.Look(t.Context(), sentTo(t, began, []sent{{"a", "", 3600}, {"b", "", 0}}), "m", began.Add(time.Hour+5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if _, passed, err := v.Choose(t.Context(), newest); !errors.Is(err, restore.ErrNone) || passed[0].Why != "nothing says that all of it is there, and the last of it came 5 s ago" {
		t.Errorf("passed over %v, %v", passed, err)
	}
}

// TestNamed says of which checkpoints a pointer says something.
func TestNamed(t *testing.T) {
	const silent, named = "nothing of it came in the last 24 h 0 min; it says nothing of itself", "a pointer names it, or a later one"
	for _, c := range []struct {
		name   string
		bucket files
		want   string
		proof  string
	}{
		{"it", files{"m/step-5/a": "w", "m/latest": "step-5"}, "step-5", named},
		{"a_later_one", files{"m/step-5/a": "w", "m/latest": "step-6"}, "step-5", named},
		{"one_of_another_run", files{"m/a/step-5/a": "w", "m/b/step-6/a": "w", "m/b/latest": "step-6"}, "a/step-5", silent},
		{"an_older_one_of_another_run", files{"m/a/step-5/a": "w", "m/b/step-4/a": "w", "m/b/latest": "step-4"}, "a/step-5", silent},
		{"one_of_this_step_with_another_name", files{"m/step-5/a": "w", "m/latest": "checkpoint-5"}, "step-5", silent},
		{"a_later_one_than_one_without_a_step", files{"m/checkpoint-final/a": "w", "m/latest": "step-6"}, "checkpoint-final", silent},
		{"one_beside_one_without_a_step", files{"m/checkpoint-final/a": "w", "m/step-6/a": "w", "m/latest": "step-6"}, "checkpoint-final", silent},
		{"one_without_a_step", files{"m/checkpoint-final/a": "w", "m/step-6/a": "w", "m/latest": "checkpoint-final"}, "step-6", silent},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := &storetest.Fake{}
			put(t, fake, c.bucket)
			_, f, passed, err := choose(t, fake, "m", restore.Want{Name: c.want, Step: checkpoint.NoStep})
			if err != nil || f.Proof != c.proof || f.Doubt != "" {
				t.Errorf("got %+v, passed over %v, %v", f, passed, err)
			}
		})
	}
}

// TestPointer_damaged reads a pointer to its end, where its checksum is compared.
func TestPointer_damaged(t *testing.T) {
	fake := &storetest.Fake{}
	put(t, fake, files{"m/step-5/a": "w", "m/latest": "step-5"})
	fake.Damage("m/latest")
	if _, err := restore.Look(t.Context(), fake, "m", later()); !errors.Is(err, store.ErrChecksum) {
		t.Errorf("got %v", err)
	}
}

// grown is a store in which an object became very long since it was listed.
type grown struct {
	store.Store
	read int
}

func (g *grown) Get(context.Context, string) (io.ReadCloser, store.Object, error) {
	return io.NopCloser(g), store.Object{SizeBytes: 1 << 20}, nil
}

func (g *grown) Read(p []byte) (int, error) {
	if g.read += len(p); g.read > 1<<20 {
		return 0, io.EOF
	}
	return copy(p, strings.Repeat("x", len(p))), nil
}

// TestPointer_grown reads no more of it than a pointer may have.
func TestPointer_grown(t *testing.T) {
	fake := &storetest.Fake{}
	put(t, fake, files{"m/step-5/a": "w", "m/latest": "step-5"})
	g := &grown{Store: fake}
	if _, err := restore.Look(t.Context(), g, "m", later()); err != nil || g.read > 16<<10 {
		t.Errorf("it read %d bytes, %v", g.read, err)
	}
}
