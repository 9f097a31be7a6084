package restore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/restore"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

func TestNewestWhole(t *testing.T) {
	metadata := "pickle __0_0.distcp and __1_0.distcp"
	whole := func(step string) files {
		return files{step + "/.metadata": metadata, step + "/__0_0.distcp": "a", step + "/__1_0.distcp": "b"}
	}
	trained := files{"m/checkpoint-1/trainer_state.json": "{}"}
	for _, name := range []string{"pytorch_model.bin", "training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth"} {
		trained["m/checkpoint-1/"+name] = "a"
	}
	torn := whole("m/step-30")
	delete(torn, "m/step-30/__1_0.distcp")
	for _, c := range []struct {
		name   string
		bucket files
		want   restore.Want
		dir    string
		passed []restore.Passed
		err    string
	}{
		{"newest", join(whole("m/step-9"), whole("m/step-10")), newest, "step-10", nil, ""},
		{"newest_whole", join(whole("m/step-20"), torn), newest, "step-20", []restore.Passed{{"step-30", "__1_0.distcp, which .metadata names, is not there", false}}, ""},
		{"by_step", join(whole("m/step-9"), whole("m/step-10")), restore.Want{Step: 9}, "step-9", nil, ""},
		{"by_name", join(whole("m/step-9"), whole("m/step-10")), restore.Want{Name: "step-9", Step: checkpoint.NoStep}, "step-9", nil, ""},
		{"a_torn_one_by_name", join(whole("m/step-20"), torn), restore.Want{Name: "step-30", Step: checkpoint.NoStep}, "", []restore.Passed{{"step-30", "__1_0.distcp, which .metadata names, is not there", false}}, "step-30 is not whole"},
		{"none_of_that_name", whole("m/step-9"), restore.Want{Name: "step-8", Step: checkpoint.NoStep}, "", nil, "there is no checkpoint step-8; there is step-9"},
		{"none_of_that_step", whole("m/step-9"), restore.Want{Step: 8}, "", nil, "there is no checkpoint of step 8; there is step-9"},
		{"nothing", files{"m/readme.md": "x"}, newest, "", nil, "there is no checkpoint that this program knows"},
		{"several_models", join(whole("m/a/step-9"), whole("m/b/step-9")), newest, "", nil, "there are checkpoints of several models: a, b"},
		{"by_path_before_name", files{"m/ckpt-9/a": "w", "m/b/ckpt-9/a": "w"}, restore.Want{Name: "ckpt-9", Step: checkpoint.NoStep}, "ckpt-9", nil, ""},
		{"the_prefix_and_below_it", files{"m/ckpt-9/a": "w", "m/b/ckpt-9/a": "w"}, newest, "", nil, "there are checkpoints of several models: that of the prefix itself, b"},
		{"one_of_several_models", join(whole("m/a/step-9"), whole("m/b/step-9")), restore.Want{Name: "b/step-9", Step: checkpoint.NoStep}, "b/step-9", nil, ""},
		{"the_prefix_itself", files{"m/.metadata": metadata, "m/__0_0.distcp": "a", "m/__1_0.distcp": "b"}, newest, ".", nil, ""},
		{"single_files", files{"m/epoch=0-step=2.ckpt": "a", "m/epoch=0-step=10.ckpt": "b", "m/last.ckpt": "-> epoch=0-step=10.ckpt"}, newest, "epoch=0-step=10.ckpt", nil, ""},
		{"killed_between_weights_and_state", join(files{"m/checkpoint-2/pytorch_model.bin": "a", "m/checkpoint-2/training_args.bin": "t"}, trained), newest, "checkpoint-1", []restore.Passed{{"checkpoint-2", "it has no optimizer.pt, which checkpoint-1 has", true}}, ""},
		{"a_kind_of_file_less", files{"m/checkpoint-1/model.bin": "a", "m/checkpoint-1/optimizer.bin": "b", "m/checkpoint-2/model.bin": "a"}, newest, "checkpoint-1", []restore.Passed{{"checkpoint-2", "it has no optimizer.bin, which checkpoint-1 has", true}}, ""},
		{"a_kind_of_file_less_by_name", files{"m/checkpoint-1/model.bin": "a", "m/checkpoint-1/optimizer.bin": "b", "m/checkpoint-2/model.bin": "a"}, restore.Want{Step: 2}, "checkpoint-2", nil, ""},
		{"a_file_in_the_making", files{"m/checkpoint-1/model.bin": "a", "m/checkpoint-1/optimizer.bin": "b", "m/checkpoint-2/model.bin": "a", "m/checkpoint-2/.optimizer.bin.Ab3xYz": "b"}, newest, "checkpoint-1", []restore.Passed{{"checkpoint-2", "it has no optimizer.bin, which checkpoint-1 has", true}}, ""},
		{"a_file_that_was_in_the_making", files{"m/checkpoint-1/model.bin": "a", "m/checkpoint-1/model.bin.incomplete": "b", "m/checkpoint-2/model.bin": "a"}, newest, "checkpoint-2", nil, ""},
		{"olmo_without_its_training", join(olmo("m/step100"), files{"m/step200/model_and_optim/.metadata": "__0_0.distcp", "m/step200/model_and_optim/__0_0.distcp": "w", "m/step200/.metadata.json": "{}"}), newest, "step100",
			[]restore.Passed{{"step200", "it has no train/rank#.pt, which step100 has", true}}, ""},
		{"a_rank_less", join(ranks("m/step-1", 3), ranks("m/step-2", 2)), newest, "step-1", []restore.Passed{{"step-2", "it has 2 files rank_#.pt, and step-1 has 3", true}}, ""},
		{"a_rank_less_twice", join(ranks("m/step-1", 3), ranks("m/step-2", 2), ranks("m/step-3", 2)), newest, "step-3", nil, ""},
		{"fewer_ranks_than_before_that_say_so", join(deepSpeed("m/global_step100", 8), deepSpeed("m/global_step200", 4), files{"m/latest": "global_step200"}), newest, "global_step200", nil, ""},
		{"a_rank_more", join(ranks("m/step-1", 3), ranks("m/step-2", 4)), newest, "step-2", nil, ""},
		{"a_rank_less_that_says_so", join(files{"m/step-1/__2_0.distcp": "c"}, whole("m/step-1"), whole("m/step-2")), newest, "step-2", nil, ""},
		{"newer_than_the_pointer", join(ranks("m/step-1", 3), ranks("m/step-2", 3), files{"m/latest": "step-1"}), newest, "step-1", []restore.Passed{{"step-2", older("latest", "step-1"), true}}, ""},
		{"newer_than_the_pointer_by_name", join(ranks("m/step-1", 3), ranks("m/step-2", 3), files{"m/latest": "step-1"}), restore.Want{Step: 2}, "step-2", nil, ""},
		{"newer_than_the_pointer_and_whole", join(whole("m/step-1"), whole("m/step-2"), files{"m/latest": "step-1"}), newest, "step-2", nil, ""},
		{"newer_than_a_pointer_of_none", join(ranks("m/step-1", 3), ranks("m/step-2", 3), files{"m/latest": "elsewhere"}), newest, "step-2", nil, ""},
		{"newer_than_the_best", join(ranks("m/step-1", 3), ranks("m/step-2", 3), files{"m/best": "step-1"}), newest, "step-2", nil, ""},
		{"newer_than_the_tracker", files{"m/iter_0000001/mp_rank_00/model_optim_rng.pt": "w", "m/iter_0000002/mp_rank_00/model_optim_rng.pt": "w", "m/latest_checkpointed_iteration.txt": "1"}, newest, "iter_0000001",
			[]restore.Passed{{"iter_0000002", older("latest_checkpointed_iteration.txt", "1"), true}}, ""},
		{"without_the_marker", files{"m/checkpoint-1/model.bin": "a", "m/checkpoint-1/.complete": "", "m/checkpoint-2/model.bin": "a"}, newest, "checkpoint-1", []restore.Passed{{"checkpoint-2", ".complete is not there, which others of its run have", false}}, ""},
		{"nemo_is_writing", files{"m/s--step=1/weights/.metadata": "__0_0.distcp", "m/s--step=1/weights/__0_0.distcp": "a", "m/s--step=1-unfinished": ""}, newest, "", []restore.Passed{{"s--step=1", "s--step=1-unfinished says that it is being written", false}}, "there is no whole checkpoint"},
		{"nemo_is_writing_a_file", files{"m/s--step=1.nemo": "w", "m/s--step=2.nemo": "w", "m/s--step=2-unfinished": ""}, newest, "s--step=1.nemo", []restore.Passed{{"s--step=2.nemo", "s--step=2-unfinished says that it is being written", false}}, ""},
		{"newer_than_the_pointer_and_named_by_another", join(ranks("m/step-1", 3), ranks("m/step-2", 3), files{"m/latest": "step-1", "m/last": "step-2"}), newest, "step-2", nil, ""},
		{"numbers", join(whole("m/0000000900"), whole("m/0000001000"), whole("m/0000000100")), newest, "0000001000", nil, ""},
		{"numbers_of_other_lengths", join(whole("m/999"), whole("m/1000")), newest, "1000", nil, ""},
		{"numbers_of_orbax", files{"m/900/_CHECKPOINT_METADATA": "{}", "m/900/items/a": "w", "m/1000/_CHECKPOINT_METADATA": "{}", "m/1000/items/a": "w"}, newest, "1000", nil, ""},
		{"an_unfinished_item_of_orbax", files{"m/100/_CHECKPOINT_METADATA": "{}", "m/100/items/a": "w", "m/200/_CHECKPOINT_METADATA": "{}", "m/200/items.orbax-checkpoint-tmp-17/a": "w"}, newest, "100",
			[]restore.Passed{{"200", "items.orbax-checkpoint-tmp-17 is unfinished", false}}, ""},
		{"an_unfinished_one_of_orbax", files{"m/100/_CHECKPOINT_METADATA": "{}", "m/100/items/a": "w", "m/200.orbax-checkpoint-tmp-17/items/manifest.ocdbt": "w"}, newest, "100", nil, ""},
		{"batches_of_composer", join(whole("m/ep0-ba900"), whole("m/ep1-ba1000")), newest, "ep1-ba1000", nil, ""},
		{"no_step_and_a_pointer", join(whole("m/a-run"), whole("m/b-run"), files{"m/latest": "b-run"}), newest, "b-run", nil, ""},
		{"keys_for_directories", join(whole("m/step-1"), files{"m/step-1/": "", "m/step-1/sub/": ""}), newest, "step-1", nil, ""},
		{"a_key_with_a_nul", join(whole("m/step-1"), files{"m/step-1/a\x00b": "x"}), newest, "", []restore.Passed{{"step-1", `the key "m/step-1/a\x00b" leads to no file in it`, false}}, "there is no whole checkpoint"},
		{"a_file_and_a_directory", files{"m/ckpt-5/a": "w", "m/ckpt-5/a/b": "w"}, newest, "", []restore.Passed{{"ckpt-5", "a is a file in it, and a directory with a/b", false}}, "there is no whole checkpoint"},
		{"a_hostile_key", files{"m/step-1/.metadata": "x", "m/step-1/__0_0.distcp": "a", "m/step-1/../../etc/passwd": "root"}, newest, "", []restore.Passed{{"step-1", `the key "m/step-1/../../etc/passwd" leads to no file in it`, false}}, "there is no whole checkpoint"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := &storetest.Fake{}
			put(t, fake, c.bucket)
			_, f, passed, err := choose(t, fake, "/m/", c.want)
			if c.err != "" {
				if err == nil || err.Error() != c.err || !cmp.Equal(passed, c.passed) {
					t.Errorf("got %v, passed over %v", err, passed)
				}
				return
			}
			if err != nil || f.Dir != c.dir || !cmp.Equal(passed, c.passed) {
				t.Errorf("got %+v, passed over %v, %v", f, passed, err)
			}
		})
	}
}

// ranks is a checkpoint of a program of its own: a file for each rank, and nothing that says how many there are.
func ranks(dir string, n int) files {
	all := files{}
	for i := range n {
		all[fmt.Sprintf("%s/rank_%d.pt", dir, i)] = "w"
	}
	return all
}

func older(pointer, text string) string {
	return pointer + " names an older one, " + text + ", and nothing in it says that all of it is there"
}

// TestStillComing has a checkpoint of which nothing says that it is whole, put just now. That a pointer names it says that it was
// written, not that all of it came: FSx keeps no order.
func TestStillComing(t *testing.T) {
	fake := &storetest.Fake{}
	put(t, fake, files{"m/ckpt-1/model.bin": "a"})
	v, err := restore.Look(t.Context(), fake, "m", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, passed, err := v.Choose(t.Context(), newest); !errors.Is(err, restore.ErrNone) || len(passed) != 1 || !strings.HasPrefix(passed[0].Why, "nothing says that all of it is there, and the last of it came") {
		t.Errorf("passed over %v, %v", passed, err)
	}
	put(t, fake, files{"m/latest": "ckpt-1"})
	if v, err = restore.Look(t.Context(), fake, "m", time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, passed, err := v.Choose(t.Context(), newest); !errors.Is(err, restore.ErrNone) || len(passed) != 1 || !strings.HasPrefix(passed[0].Why, "nothing says that all of it is there, and the last of it came") {
		t.Errorf("named, passed over %v, %v", passed, err)
	}
	if _, f, _, err := choose(t, fake, "m", newest); err != nil || f.Proof != "a pointer names it, or a later one" {
		t.Errorf("got %+v, %v", f, err)
	}
}

// TestNewestByTime has checkpoints whose names have no step: the one that came last is the newest, whatever the order of their names.
func TestNewestByTime(t *testing.T) {
	began := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	for want, all := range map[string][]sent{
		"b-run": {{"m/a-run/.metadata", "", 0}, {"m/a-run/__0_0.distcp", "", 0}, {"m/b-run/__0_0.distcp", "", 10}, {"m/b-run/.metadata", "", 20}},
		"a-run": {{"m/b-run/.metadata", "", 0}, {"m/b-run/__0_0.distcp", "", 0}, {"m/a-run/__0_0.distcp", "", 10}, {"m/a-run/.metadata", "", 20}},
	} {
		v, err := restore.Look(t.Context(), sentTo(t, began, all), "m", began.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if f, passed, err := v.Choose(t.Context(), newest); err != nil || f.Dir != want {
			t.Errorf("got %+v, passed over %v, %v, want %s", f, passed, err, want)
		}
	}
}

// deepSpeed is a checkpoint of ZeRO, whose model's states say how many ranks there are.
func deepSpeed(dir string, ranks int) files {
	all := files{dir + "/mp_rank_00_model_states.pt": fmt.Sprintf("dp_world_sizeK%cmp_world_sizeK\x01", rune(ranks))}
	for n := range ranks {
		all[fmt.Sprintf("%s/bf16_zero_pp_rank_%d_mp_rank_00_optim_states.pt", dir, n)] = "w"
	}
	return all
}

// olmo is a checkpoint of OLMo-core.
func olmo(dir string) files {
	return files{dir + "/model_and_optim/.metadata": "__0_0.distcp", dir + "/model_and_optim/__0_0.distcp": "w", dir + "/train/rank0.pt": "w", dir + "/.metadata.json": "{}"}
}
