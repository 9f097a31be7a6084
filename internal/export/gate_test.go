package export

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/store"
)

// older is some seconds before longAgo.
func older(seconds int) time.Time { return longAgo.Add(-time.Duration(seconds) * time.Second) }

// decided is what a plan says of a state at noon.
type decided struct {
	name  string
	state State
	want  []string
}

func decides(t *testing.T, all []decided) {
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			c.state.Time, c.state.Pace = noon, DefaultPace
			if diff := cmp.Diff(c.want, lines(Decide(c.state))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckpointsGoWhole(t *testing.T) {
	trainer := []File{file("checkpoint-4/model.safetensors", older(9)), file("checkpoint-4/training_args.bin", older(8)), file("checkpoint-4/optimizer.pt", older(7)), file("checkpoint-4/rng_state.pth", older(6))}
	state := file("checkpoint-4/trainer_state.json", older(5))
	for i := range trainer {
		trainer[i].ModTime = stampOf(noon.Add(-time.Minute))
	}
	late := exportedState(all, file("step-9/.metadata", longAgo), file("step-9/__0_0.distcp", longAgo))
	o := late.Objects["step-9/__0_0.distcp"]
	o.Modified = noon.UnixNano()
	late.Objects["step-9/__0_0.distcp"] = o
	added := late
	var savedTrainer []File
	var exportedTrainer []store.Object
	for _, name := range []string{"model.safetensors", "training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json"} {
		savedTrainer = append(savedTrainer, file("checkpoint-4/"+name, longAgo))
		exportedTrainer = append(exportedTrainer, objectOf(savedTrainer[len(savedTrainer)-1]))
	}
	added.Rule.Changed = false
	quiet := all
	quiet.Quiet = 2 * time.Hour
	decides(t, []decided{
		{"trainer_half_way", State{Rule: all, Tree: tree(trainer...)}, []string{
			"wait checkpoint-4/model.safetensors: checkpoint-4 is not whole: trainer_state.json, which is written last, is not there",
			"wait checkpoint-4/optimizer.pt: checkpoint-4 is not whole: trainer_state.json, which is written last, is not there",
			"wait checkpoint-4/rng_state.pth: checkpoint-4 is not whole: trainer_state.json, which is written last, is not there",
			"wait checkpoint-4/training_args.bin: checkpoint-4 is not whole: trainer_state.json, which is written last, is not there"}},
		{"trainer_killed_long_ago", State{Rule: all, Tree: tree(file("checkpoint-4/optimizer.pt", longAgo), file("checkpoint-4/training_args.bin", longAgo))}, []string{
			"blocked checkpoint-4/optimizer.pt: checkpoint-4 is not whole: trainer_state.json, which is written last, is not there",
			"blocked checkpoint-4/training_args.bin: checkpoint-4 is not whole: trainer_state.json, which is written last, is not there"}},
		{"trainer_killed_before_its_states", State{Rule: all, Tree: tree(slices.Concat(savedTrainer, []File{file("checkpoint-8/model.safetensors", longAgo), file("checkpoint-8/training_args.bin", longAgo)})...), Objects: objects(exportedTrainer...)}, []string{
			"blocked checkpoint-8/model.safetensors: checkpoint-8 is not whole: optimizer.pt is not there yet, which checkpoint-4 has",
			"blocked checkpoint-8/training_args.bin: checkpoint-8 is not whole: optimizer.pt is not there yet, which checkpoint-4 has"}},
		{"weights_alone_by_hand", State{Rule: all, Tree: tree(file("checkpoint-8/model.safetensors", longAgo), file("checkpoint-8/training_args.bin", longAgo))}, []string{
			"put fsx/checkpoint-8/model.safetensors: new", "put fsx/checkpoint-8/training_args.bin: new"}},
		{"its_log_does_not_wait", State{Rule: all, Tree: tree(file("checkpoint-4/__0_0.distcp", recent), file("checkpoint-4/train.log", recent))}, []string{
			"put fsx/checkpoint-4/train.log: new", "wait checkpoint-4/__0_0.distcp: it is being written"}},
		{"what_says_that_it_is_whole_comes_last", State{Rule: all, Tree: tree(state, file("checkpoint-4/model.safetensors", older(1000)), file("checkpoint-4/a", older(900)), file("b", older(2)))}, []string{
			"put fsx/checkpoint-4/model.safetensors: new", "put fsx/checkpoint-4/a: new", "put fsx/checkpoint-4/trainer_state.json: new", "put fsx/b: new"}},
		{"and_the_pointer_after_it", State{Rule: all, Tree: tree(pointerFile("latest", "step-9"), file("step-9/.metadata", longAgo), file("step-9/__0_0.distcp", longAgo))}, []string{
			"put fsx/step-9/__0_0.distcp: new", "put fsx/step-9/.metadata: new", "put fsx/latest: new"}},
		{"it_waits_for_a_part", State{Rule: all, Tree: tree(file("step-9/.metadata", older(1)), File{Path: "step-9/__0_0.distcp", SizeBytes: 4, ModTime: stampOf(older(2))}), Failed: map[string]Attempt{"step-9/__0_0.distcp": {File: File{Path: "step-9/__0_0.distcp", SizeBytes: 4, ModTime: stampOf(older(2))}, Reason: "permission denied", Again: noon.Add(time.Hour)}}},
			[]string{"blocked step-9/__0_0.distcp: permission denied", "blocked step-9/.metadata: it waits for step-9/__0_0.distcp, which cannot be exported"}},
		{"written_again_under_its_name", State{Rule: all, Tree: tree(file("step-9/.metadata", longAgo), file("step-9/__0_0.distcp", noon.Add(-30*time.Second)))}, []string{
			"wait step-9/.metadata: step-9 is not whole: __0_0.distcp is newer than .metadata, and it changed 30s ago",
			"wait step-9/__0_0.distcp: step-9 is not whole: __0_0.distcp is newer than .metadata, and it changed 30s ago"}},
		{"deepspeed_without_its_pointer", State{Rule: all, Tree: tree(file("global_step5/mp_rank_00_model_states.pt", noon.Add(-time.Minute)))}, []string{
			"wait global_step5/mp_rank_00_model_states.pt: global_step5 is not whole: the latest beside it does not name it yet, and it changed 1m0s ago"}},
		{"deepspeed_with_its_pointer", State{Rule: all, Tree: tree(file("global_step5/mp_rank_00_model_states.pt", noon.Add(-time.Minute)), pointerFile("latest", "global_step5"))}, []string{
			"put fsx/global_step5/mp_rank_00_model_states.pt: new", "put fsx/latest: new"}},
		{"deepspeed_whose_pointer_names_a_later_one", State{Rule: all, Tree: tree(file("global_step5/mp_rank_00_model_states.pt", noon.Add(-time.Minute)), file("global_step6/mp_rank_00_model_states.pt", noon.Add(-time.Minute)), pointerFile("latest", "global_step6"))}, []string{
			"put fsx/global_step5/mp_rank_00_model_states.pt: new", "put fsx/global_step6/mp_rank_00_model_states.pt: new", "put fsx/latest: new"}},
		{"deepspeed_that_is_named_and_lacks_a_rank", State{Rule: all, Tree: tree(file("global_step5/mp_rank_00_model_states.pt", noon.Add(-time.Minute)), file("global_step5/zero_pp_rank_1_mp_rank_00_optim_states.pt", noon.Add(-time.Minute)), pointerFile("latest", "global_step5"))}, []string{
			"wait global_step5/mp_rank_00_model_states.pt: global_step5 is not whole: the optimizer's states of rank 0 (0 of model parallel) are not there",
			"wait global_step5/zero_pp_rank_1_mp_rank_00_optim_states.pt: global_step5 is not whole: the optimizer's states of rank 0 (0 of model parallel) are not there",
			"wait latest: it waits for global_step5/mp_rank_00_model_states.pt"}},
		{"deepspeed_that_is_named_and_lacks_a_rank_for_long", State{Rule: all, Tree: tree(file("global_step5/zero_pp_rank_1_mp_rank_00_optim_states.pt", longAgo), file("global_step5/mp_rank_00_model_states.pt", longAgo), pointerFile("latest", "global_step5"))}, []string{
			"blocked global_step5/mp_rank_00_model_states.pt: global_step5 is not whole: the optimizer's states of rank 0 (0 of model parallel) are not there",
			"blocked global_step5/zero_pp_rank_1_mp_rank_00_optim_states.pt: global_step5 is not whole: the optimizer's states of rank 0 (0 of model parallel) are not there",
			"blocked latest: it waits for global_step5/mp_rank_00_model_states.pt, which cannot be exported"}},
		{"a_marker_that_others_have_and_that_does_not_come", State{Rule: all, Tree: tree(file("ckpt-1/a", older(3)), file("ckpt-1/.complete", longAgo), file("ckpt-2/a", longAgo)), Objects: objects(objectOf(file("ckpt-1/a", older(3))), objectOf(file("ckpt-1/.complete", longAgo)))}, []string{
			"blocked ckpt-2/a: ckpt-2 is not whole: .complete is not there, which others of its run have"}},
		{"a_pointer_instead_of_a_marker", State{Rule: all, Tree: tree(file("ckpt-1/a", older(3)), file("ckpt-1/.complete", longAgo), file("ckpt-2/a", longAgo), pointerFile("latest", "ckpt-2")), Objects: objects(objectOf(file("ckpt-1/a", older(3))), objectOf(file("ckpt-1/.complete", longAgo)))}, []string{
			"put fsx/ckpt-2/a: new", "put fsx/latest: new"}},
		{"files_of_which_one_is_being_written", State{Rule: all, Tree: tree(file("ckpt-1/a", longAgo), file("ckpt-1/b", recent))}, []string{
			"wait ckpt-1/a: ckpt-1 is not whole: b: it is being written", "wait ckpt-1/b: it is being written"}},
		{"files_that_were_not_quiet_for_long_enough", State{Rule: quiet, Tree: tree(file("ckpt-1/a", longAgo))}, []string{"wait ckpt-1/a: ckpt-1 is not whole: it changed 1h0m0s ago"}},
		{"files_of_which_one_is_yet_to_come", State{Rule: all, Tree: tree(file("ckpt-1/a", longAgo), file("ckpt-1/b", longAgo), file("ckpt-2/a", noon.Add(-time.Minute))), Objects: objects(objectOf(file("ckpt-1/a", longAgo)), objectOf(file("ckpt-1/b", longAgo)))},
			[]string{"wait ckpt-2/a: ckpt-2 is not whole: b is not there yet, which ckpt-1 has"}},
		{"a_marker_does_not_have_to_be_quiet", State{Rule: quiet, Tree: tree(file("ckpt-1/a", older(3)), file("ckpt-1/.complete", longAgo))}, []string{"put fsx/ckpt-1/a: new", "put fsx/ckpt-1/.complete: new"}},
		{"a_marker_that_others_have", State{Rule: all, Tree: tree(file("ckpt-1/a", older(3)), file("ckpt-1/.complete", longAgo), file("ckpt-2/a", noon.Add(-time.Minute))), Objects: objects(objectOf(file("ckpt-1/a", older(3))), objectOf(file("ckpt-1/.complete", longAgo)))}, []string{
			"wait ckpt-2/a: ckpt-2 is not whole: .complete is not there yet, and it changed 1m0s ago"}},
		{"a_file_that_came_after_it_where_changes_stay", added, []string{"put fsx/step-9/.metadata: a file of its checkpoint came after it"}},
		{"a_file_that_came_after_it", late, []string{"put fsx/step-9/.metadata: a file of its checkpoint came after it"}},
	})
}

func TestLinksComeAfterWhatTheyLeadTo(t *testing.T) {
	decides(t, []decided{
		{"a_link_of_any_name", State{Rule: all, Tree: tree(File{Path: "best", Link: "ckpt-1", ModTime: stampOf(older(9))}, file("ckpt-1/a", older(3)))}, []string{"put fsx/ckpt-1/a: new", "put fsx/best: new"}},
		{"a_link_to_what_waits", State{Rule: all, Tree: tree(File{Path: "last.ckpt", Link: "epoch=1-step=5.ckpt", ModTime: stampOf(older(9))}, file("epoch=1-step=5.ckpt", recent))}, []string{
			"wait epoch=1-step=5.ckpt: it is being written", "wait last.ckpt: it waits for epoch=1-step=5.ckpt"}},
		{"links_around", State{Rule: all, Tree: tree(File{Path: "a", Link: "b", ModTime: stampOf(older(9))}, File{Path: "b", Link: "a", ModTime: stampOf(older(9))})}, []string{"put fsx/a: new", "put fsx/b: new"}},
	})
}

// exportedState is a tree with all that it exports in the bucket.
func exportedState(rule Rule, files ...File) State {
	s := State{Rule: rule, Tree: tree(files...), Objects: map[string]object{}}
	for _, f := range files {
		s.Objects[f.Path] = lean(objectOf(f))
	}
	return s
}

func TestCheckpointsGoByPolicy(t *testing.T) {
	two, milestones := all, all
	two.Keep = checkpoint.Policy{Last: 2}
	milestones.Keep = checkpoint.Policy{Last: 1, Every: 10}
	run := func(n ...string) []File {
		var files []File
		for _, step := range n {
			files = append(files, file("r/ckpt-"+step+"/a", longAgo), file("r/ckpt-"+step+"/.complete", longAgo))
		}
		return files
	}
	newest := exportedState(two, run("1", "2", "3")...)
	delete(newest.Objects, "r/ckpt-3/a")
	pruned := exportedState(two, run("1", "2", "3", "4")...)
	pruned.Tree = tree(run("4")...)
	lost := exportedState(two, run("1", "2", "3", "4")...)
	lost.Tree = tree(file("x", longAgo))
	lost.Objects["x"] = lean(objectOf(file("x", longAgo)))
	unknown := exportedState(two, append(run("1", "2", "3"), pointerFile("r/latest", "ckpt-1"))...)
	unknown.Tree = tree(run("1", "2", "3")...)
	foreign := exportedState(two, run("1", "2", "3")...)
	o := foreign.Objects["r/ckpt-1/a"]
	o.ModTime, o.Modified = noTime, noon.UnixNano()
	foreign.Objects["r/ckpt-1/a"] = o
	fresh := exportedState(two, run("1", "2", "3")...)
	fresh.Objects = exportedState(two, run("2", "3")...).Objects
	decides(t, []decided{
		{"the_newest_stay", exportedState(two, run("1", "2", "3")...), []string{
			"delete fsx/r/ckpt-1/.complete: 2 whole checkpoints are newer", "delete fsx/r/ckpt-1/a: 2 whole checkpoints are newer"}},
		{"and_it_does_not_come_back", fresh, nil},
		{"milestones_stay", exportedState(milestones, run("10", "15", "20", "25")...), []string{
			"delete fsx/r/ckpt-15/.complete: 1 whole checkpoint is newer", "delete fsx/r/ckpt-15/a: 1 whole checkpoint is newer"}},
		{"not_before_the_newest_is_exported", newest, []string{"put fsx/r/ckpt-3/a: new"}},
		{"what_the_directory_has_no_more_counts", pruned, []string{
			"delete fsx/r/ckpt-1/.complete: 2 whole checkpoints are newer", "delete fsx/r/ckpt-1/a: 2 whole checkpoints are newer",
			"delete fsx/r/ckpt-2/.complete: 2 whole checkpoints are newer", "delete fsx/r/ckpt-2/a: 2 whole checkpoints are newer"}},
		{"nothing_goes_of_a_run_that_is_not_here", lost, nil},
		{"the_one_that_is_named_stays", exportedState(two, append(run("1", "2", "3"), pointerFile("r/latest", "ckpt-1"))...), nil},
		{"nothing_goes_beside_a_pointer_of_the_bucket", unknown, nil},
		{"numbers_alone_stay", exportedState(two, file("r/1/.metadata", longAgo), file("r/1/__0_0.distcp", longAgo), file("r/2/.metadata", longAgo), file("r/2/__0_0.distcp", longAgo), file("r/3/.metadata", longAgo), file("r/3/__0_0.distcp", longAgo)), nil},
		{"what_somebody_else_put_stays", foreign, []string{"delete fsx/r/ckpt-1/.complete: 2 whole checkpoints are newer"}},
	})
}
