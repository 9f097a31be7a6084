package errand

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMendShrunk has a checkpoint with a rank's file fewer than the one before it, which is one of a run with fewer nodes if that
// began between the two.
func TestMendShrunk(t *testing.T) {
	for name, c := range map[string]struct {
		shrunk time.Duration // before now
		moved  int
	}{"never": {0, 1}, "before_both": {4 * time.Hour, 1}, "between": {2 * time.Hour, 0}, "after_both": {time.Minute, 1}} {
		t.Run(name, func(t *testing.T) {
			root, now := t.TempDir(), time.Now()
			for path, age := range map[string]time.Duration{"step-1/rank_0.bin": 3 * time.Hour, "step-1/rank_1.bin": 3 * time.Hour, "step-2/rank_0.bin": time.Hour} {
				put1(t, filepath.Join(root, path), "x")
				must(t, os.Chtimes(filepath.Join(root, path), now.Add(-age), now.Add(-age)))
			}
			m := Mending{Dirs: []string{root}, Ended: now}
			if c.shrunk > 0 {
				m.Shrunk = now.Add(-c.shrunk)
			}
			found, err := (&server{}).diagnose(m, now)
			if must(t, err); len(found.Repairs) != c.moved {
				t.Errorf("moved: %v, want %d", found.Repairs, c.moved)
			}
		})
	}
}

// TestMendUnsure has checkpoints that do not say themselves that they are whole, and names without a step: what programs would go on
// from, and cannot, goes out of their way.
func TestMendUnsure(t *testing.T) {
	torch, err := os.ReadFile("../../data/checkpoint/testdata/contents/torch.pt")
	must(t, err)
	whole, cut := string(torch), string(torch[:2000])
	for name, c := range map[string]struct {
		files [][2]string // the oldest first
		moved []string
	}{
		"trainer_killed_before_its_states": {[][2]string{{"checkpoint-1/pytorch_model.bin", whole}, {"checkpoint-1/optimizer.pt", whole}, {"checkpoint-1/training_args.bin", whole}, {"checkpoint-1/scheduler.pt", whole}, {"checkpoint-1/rng_state.pth", whole}, {"checkpoint-1/trainer_state.json", "{}"}, {"checkpoint-2/pytorch_model.bin", whole}, {"checkpoint-2/training_args.bin", whole}},
			[]string{"checkpoint-2: it has no optimizer.pt, which checkpoint-1 has"}},
		"weights_alone_by_hand":        {[][2]string{{"checkpoint-1/pytorch_model.bin", whole}, {"checkpoint-1/training_args.bin", whole}, {"checkpoint-2/pytorch_model.bin", whole}, {"checkpoint-2/training_args.bin", whole}}, nil},
		"another_form":                 {[][2]string{{"step-1/a.bin", "x"}, {"step-1/b.bin", "x"}, {"step-2/c.bin", "x"}}, nil},
		"steps_behind_the_number":      {[][2]string{{"m-100steps/.metadata", "pickle __0_0.distcp"}, {"m-100steps/__0_0.distcp", "x"}, {"m-200steps/__0_0.distcp", "x"}}, []string{"m-200steps: .metadata, which is written last, is not there"}},
		"numbers":                      {[][2]string{{"900/.metadata", "pickle __0_0.distcp"}, {"900/__0_0.distcp", "x"}, {"1000/__0_0.distcp", "x"}}, []string{"1000: .metadata, which is written last, is not there"}},
		"numbers_of_orbax":             {[][2]string{{"100/_CHECKPOINT_METADATA", "{}"}, {"100/items/a", "x"}, {"200/_CHECKPOINT_METADATA", "{}"}, {"200/items.orbax-checkpoint-tmp-17/a", "x"}}, []string{"200: items.orbax-checkpoint-tmp-17 is unfinished"}},
		"a_rank_less":                  {[][2]string{{"step-1/rank_0.bin", "x"}, {"step-1/rank_1.bin", "x"}, {"step-2/rank_0.bin", "x"}}, []string{"step-2: it has 1 file rank_#.bin, and step-1 has 2"}},
		"a_rank_less_twice":            {[][2]string{{"step-1/rank_0.bin", "x"}, {"step-1/rank_1.bin", "x"}, {"step-2/rank_0.bin", "x"}, {"step-3/rank_0.bin", "x"}}, nil},
		"a_rank_less_of_its_own_words": {[][2]string{{"step-1/m_world_size_2_rank_0.bin", "x"}, {"step-1/m_world_size_2_rank_1.bin", "x"}, {"step-2/m_world_size_1_rank_0.bin", "x"}}, nil},
		"a_shard_less":                 {[][2]string{{"ckpt-1/v.data-00000-of-00002", "x"}, {"ckpt-1/v.data-00001-of-00002", "x"}, {"ckpt-2/v.data-00000-of-00002", "x"}}, []string{"ckpt-2: v.data-00001-of-00002 is not there"}},
		"a_file_in_the_making":         {[][2]string{{"step-1/a.bin", "x"}, {"step-1/b.bin", "x"}, {"step-2/a.bin", "x"}, {"step-2/b.bin.incomplete", "x"}}, []string{"step-2: it has no b.bin, which step-1 has"}},
		"olmo_without_its_first_rank": {[][2]string{{"step1/model_and_optim/.metadata", "__0_0.distcp"}, {"step1/model_and_optim/__0_0.distcp", "x"}, {"step1/train/rank0.pt", whole}, {"step1/train/rank1.pt", whole}, {"step2/model_and_optim/.metadata", "__0_0.distcp"}, {"step2/model_and_optim/__0_0.distcp", "x"}, {"step2/train/rank1.pt", whole}},
			[]string{"step2: train/rank0.pt is not there"}},
		"newest_by_time": {[][2]string{{"hpc_ckpt_1.ckpt", whole}, {"hpc_ckpt_2.ckpt", cut}}, []string{"hpc_ckpt_2.ckpt: hpc_ckpt_2.ckpt: it begins like a zip archive, and has no end"}},
		"oldest_by_time": {[][2]string{{"hpc_ckpt_1.ckpt", cut}, {"hpc_ckpt_2.ckpt", whole}}, nil},
		"last":           {[][2]string{{"step=1.ckpt", whole}, {"last.ckpt", cut}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for i, f := range c.files {
				put1(t, filepath.Join(root, f[0]), f[1])
				at := time.Now().Add(time.Duration(i-1000) * time.Second)
				must(t, os.Chtimes(filepath.Join(root, f[0]), at, at))
			}
			var moved []string
			for _, r := range mend(t, root).Repairs {
				moved = append(moved, filepath.Base(r.Path)+": "+r.Why)
			}
			if diff := cmp.Diff(c.moved, moved); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
