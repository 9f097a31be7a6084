package checkpoint_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
)

// texts are the files of a checkpoint.
type texts map[string]string

func (t texts) with(more texts) texts {
	all := maps.Clone(t)
	maps.Copy(all, more)
	return all
}

func (t texts) without(name string) texts {
	all := maps.Clone(t)
	delete(all, name)
	return all
}

// judged says what is torn of files in a bucket, and whether nothing in them says that they are whole.
type judged struct {
	name string
	of   texts
	torn string
	mute bool
}

func judges(t *testing.T, all []judged) {
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			r := &reads{texts: map[string][]byte{}}
			for p, text := range c.of {
				r.texts[p] = []byte(text)
			}
			if v := looked(t, r, checkpoint.Set{Dir: "step-1"}, nil); v.Torn != c.torn || v.Mute != c.mute {
				t.Errorf("it is %+v, want torn %q, mute %v", v, c.torn, c.mute)
			}
		})
	}
}

// TestCommon has checkpoints of Megatron Core as it writes them up to 0.16.1, with common.pt, and later, with what was in it among the tensors.
func TestCommon(t *testing.T) {
	const gone = "common.pt, which is written first, is not there"
	old := texts{"common.pt": "c", ".metadata": "__0_0.distcp", "__0_0.distcp": "w", "metadata.json": `{"sharded_backend": "torch_dist", "sharded_backend_version": 1, "common_backend": "torch", "common_backend_version": 1}`}
	unsaid := old.with(texts{"metadata.json": `{"sharded_backend": "torch_dist", "sharded_backend_version": 1}`})
	inside := unsaid.with(texts{".metadata": "common_state/shard_0_1 __0_0.distcp"}).without("common.pt")
	below := func(of texts) texts {
		all := texts{}
		for p, text := range of {
			all["weights/"+p] = text
		}
		return all
	}
	judges(t, []judged{
		{"whole", old, "", false},
		{"without_it", old.without("common.pt"), gone, false},
		{"without_it_below", below(old.without("common.pt")), "weights/" + gone, false},
		{"without_it_and_unsaid", unsaid.without("common.pt"), gone, false},
		{"unsaid", unsaid, "", false},
		{"inside", inside, "", false},
		{"inside_and_said", old.with(texts{".metadata": "common_state/shard_0_1 __0_0.distcp"}).without("common.pt"), "", false},
		{"inside_without_the_end", inside.without("metadata.json"), "metadata.json, which is written last, is not there", false},
		{"without_the_tensors_names", inside.without(".metadata"), ".metadata, which is written last, is not there", false},
		{"zarr_without_it", texts{"metadata.json": `{"sharded_backend": "zarr"}`, "w/.zarray": "{}", "w/0.0": "w"}, gone, false},
		{"of_another_common_backend", old.with(texts{"metadata.json": `{"sharded_backend": "torch_dist", "common_backend": "json"}`}).without("common.pt"), "", false},
		{"of_another_backend", unsaid.with(texts{"metadata.json": `{"sharded_backend": "fsdp_dtensor"}`}).without("common.pt"), "", false},
		{"of_no_backend", unsaid.with(texts{"metadata.json": `{"sharded_backend": ""}`}).without("common.pt"), "", false},
		{"of_another_program", texts{"model.bin": "weights", "metadata.json": `{"step": 1}`}, "", true},
	})
}

func TestManifest(t *testing.T) {
	two := texts{"a.bin": "0123", "sub/b.bin": "01"}
	named := func(manifest string) texts { return two.with(texts{"manifest.json": manifest}) }
	all := []judged{
		{"outside", named(`{"files": ["../c.bin", "/c.bin", "a/../../c.bin", ".", "manifest.json"]}`), "", true},
		{"outside_and_inside", named(`{"files": {"../c.bin": 4, "./a.bin": 4}}`), "", false},
		{"logs", named(`{"files": {"a.bin": 4, "vocab.txt": 4, "train.log": 4, "x.tmp": 4}}`), "", false},
		{"first_of_the_keys", named(`{"files": [{"name": "a.bin", "path": "x/a.bin", "bytes": 4, "size": 9}]}`), "", false},
	}
	for name, manifest := range map[string]string{
		"no_json": `{"files": {"c.bin"`, "more_behind_it": `{"files": ["c.bin"]} {}`, "no_files": `{"step": 1}`, "null": `{"files": null}`, "a_number": `{"files": 2}`, "a_list": `["c.bin"]`,
		"numbers": `{"files": [4]}`, "no_name": `{"files": [{"id": "c.bin", "size": 4}]}`, "empty_name": `{"files": ["c.bin", ""]}`, "texts_by_name": `{"files": {"c.bin": "abc"}}`,
		"objects_without_a_size": `{"files": {"c.bin": {"sha256": "x"}}}`, "size_in_words": `{"files": [{"path": "c.bin", "size": "4 MB"}]}`, "half_a_byte": `{"files": {"c.bin": 4.5}}`,
		"less_than_nothing": `{"files": {"c.bin": -4}}`, "one_of_another_form": `{"files": [{"path": "c.bin", "size": 4}, null]}`, "one_size_of_another_form": `{"files": {"c.bin": 4, "a.bin": true}}`,
	} {
		all = append(all, judged{"unknown_" + name, named(manifest), "", true})
	}
	for name, form := range map[string]struct {
		manifest string
		sized    bool
	}{
		"objects_by_name": {`{"files": {"a.bin": {"bytes": 4}, "sub/b.bin": {"bytes": 2}}}`, true},
		"size_by_name":    {`{"files": {"a.bin": {"size": 4}, "sub/b.bin": {"length": 2}}}`, true},
		"numbers_by_name": {`{"files": {"a.bin": 4, "sub/b.bin": 2}}`, true},
		"names":           {`{"files": ["a.bin", "sub/b.bin"]}`, false},
		"objects":         {`{"files": [{"name": "a.bin", "bytes": 4}, {"path": "sub/b.bin", "size": 2}]}`, true},
		"other_objects":   {`{"files": [{"file": "a.bin", "length": 4}, {"filename": "sub/b.bin", "size": 2, "sha256": "x"}]}`, true},
		"unsized_objects": {`{"files": [{"path": "a.bin"}, {"path": "sub/b.bin", "sha256": "x"}]}`, false},
	} {
		short := ""
		if form.sized {
			short = "sub/b.bin has 1 bytes, and manifest.json says 2"
		}
		whole := named(form.manifest)
		all = append(all, judged{name, whole, "", !form.sized}, judged{name + "_missing", whole.without("a.bin"), "a.bin, which manifest.json names, is not there", false},
			judged{name + "_short", whole.with(texts{"sub/b.bin": "0"}), short, !form.sized})
	}
	judges(t, all)
}

// TestZeros has files of their length without their bytes, as file systems leave them after a power cut.
func TestZeros(t *testing.T) {
	const lost = "it begins with zeros, as a file whose bytes were lost in a power cut"
	zeros, torch := strings.Repeat("\x00", 5000), string(read(t, "contents/torch.pt"))
	all := []judged{
		{"bare_numbers_that_begin_with_zeros", texts{"a.bin": zeros + "w"}, "", true},
		{"bare_numbers", texts{"a.bin": "w" + zeros}, "", true},
		{"an_archive_whose_beginning_is_gone", texts{"a.pt": zeros[:512] + "legacy"}, "a.pt: " + lost, false},
		{"an_archive_whose_rest_is_gone", texts{"a.pt": torch[:1000] + zeros}, "a.pt: it begins like a zip archive, and has no end", false},
		{"zeros_behind_a_block", texts{"a.pt": "w" + zeros}, "", true},
		{"shards", texts{"a.safetensors": zeros}, "a.safetensors: its header is not JSON", false},
		{"no_form", texts{"a.dat": zeros}, "", true},
	}
	for _, ext := range []string{"pt", "pth", "ckpt", "bin", "pkl", "npz"} {
		for _, n := range []int{1, 600, 5000} {
			all = append(all, judged{ext, texts{"a." + ext: zeros[:n]}, "a." + ext + ": " + lost, false})
		}
	}
	judges(t, all)
}

// TestTrainer has what a save of Hugging Face's Trainer leaves that was cut off.
func TestTrainer(t *testing.T) {
	of := texts{"model.safetensors": string(safetensors(9, 0)), "optimizer.pt": "o", "scheduler.pt": "s", "training_args.bin": "a", "config.json": "{}", "trainer_state.json": "{}"}
	ranks := of.with(texts{"rng_state_0.pth": "r", "rng_state_1.pth": "r", "rng_state_2.pth": "r", "rng_state_3.pth": "r"})
	one := of.with(texts{"rng_state.pth": "r"})
	const end = ": it is JSON without an end"
	judges(t, []judged{
		{"whole", one, "", false},
		{"of_four_ranks", ranks, "", false},
		{"without_a_rank", ranks.without("rng_state_2.pth"), "rng_state_2.pth is not there", false},
		{"without_the_first_rank", ranks.without("rng_state_0.pth"), "rng_state_0.pth is not there", false},
		{"without_any", of, "rng_state.pth is not there", false},
		{"of_the_second_node", of.with(texts{"rng_state_2.pth": "r", "rng_state_3.pth": "r"}), "", false},
		{"a_bracket", one.with(texts{"config.json": "{"}), "config.json" + end, false},
		{"a_state_of_a_bracket", one.with(texts{"trainer_state.json": "{"}), "trainer_state.json" + end, false},
		{"zeros", one.with(texts{"config.json": "\x00\x00\x00"}), "config.json" + end, false},
		{"cut_off_behind_a_bracket", one.with(texts{"config.json": `{"a": {"b": 1}`}), "config.json" + end, false},
		{"cut_off_in_a_text", one.with(texts{"generation_config.json": `{"a": "b}`}), "generation_config.json" + end, false},
		{"brackets_in_texts", one.with(texts{"config.json": `{"a": "{[\"{", "b": [NaN, {}]}` + "\n"}), "", false},
		{"of_another_program", one.with(texts{"notes.json": "{"}), "", false},
	})
}

// TestCounted has checkpoints of which the names of files, or what is in them, say how many files there are.
func TestCounted(t *testing.T) {
	world := texts{"actor/model_world_size_3_rank_0.pt": "w", "actor/model_world_size_3_rank_1.pt": "w", "actor/model_world_size_3_rank_2.pt": "w"}
	shards := texts{"v.index": "i", "v.data-00000-of-00002": "w", "v.data-00001-of-00002": "w"}
	ranks := texts{"mp_rank_00/model_optim_rng.pt": "w", "mp_rank_00/distrib_optim.pt": "w", "mp_rank_01/model_optim_rng.pt": "w", "mp_rank_01/distrib_optim.pt": "w"}
	judges(t, []judged{
		{"world", world, "", true},
		{"a_rank_less", world.without("actor/model_world_size_3_rank_2.pt"), "actor/model_world_size_3_rank_2.pt is not there", false},
		{"the_first_rank_less", world.without("actor/model_world_size_3_rank_0.pt"), "actor/model_world_size_3_rank_0.pt is not there", false},
		{"shards_from_0", shards, "", true},
		{"the_last_shard_less", shards.without("v.data-00001-of-00002"), "v.data-00001-of-00002 is not there", false},
		{"the_first_shard_less", shards.without("v.data-00000-of-00002"), "v.data-00002-of-00002 is not there", false},
		{"some_ranks_from_0", texts{"random/tp-0-of-2.pt": "w"}, "", true},
		{"ranks_with_optimizers", ranks, "", false},
		{"an_optimizer_less", ranks.without("mp_rank_01/distrib_optim.pt"), "mp_rank_01/distrib_optim.pt is not there", false},
		{"no_optimizers", ranks.without("mp_rank_00/distrib_optim.pt").without("mp_rank_01/distrib_optim.pt"), "", false},
	})
}

// TestLeads has states of DeepSpeed below a pointer that is a part of the checkpoint.
func TestLeads(t *testing.T) {
	all := texts{"latest": "global_step5\n", "global_step5/mp_rank_00_model_states.pt": "w"}
	judges(t, []judged{
		{"it_does", all, "", true},
		{"by_a_path", all.with(texts{"latest": "a/b/global_step5"}), "", true},
		{"empty", all.with(texts{"latest": ""}), "latest has 0 bytes", false},
		{"a_part_of_the_name", all.with(texts{"latest": "global_st"}), "latest names global_st, which is not there", false},
		{"another_step", all.with(texts{"latest": "global_step4"}), "latest names global_step4, which is not there", false},
	})
}

func TestFewer(t *testing.T) {
	of := func(paths ...string) []checkpoint.File {
		var all []checkpoint.File
		for _, p := range paths {
			all = append(all, checkpoint.File{Path: p})
		}
		return all
	}
	for _, c := range []struct {
		name      string
		have, had []checkpoint.File
		counted   []string
		want      string
	}{
		{"fewer", of("rank_0"), of("rank_0", "rank_1"), nil, "rank_#"},
		{"as_many", of("rank_0"), of("rank_1"), nil, ""},
		{"more", of("rank_0", "rank_1"), of("rank_1"), nil, ""},
		{"it_says_how_many", of("rank_0"), of("rank_0", "rank_1"), []string{"rank_#"}, ""},
		{"none_of_one_and_fewer_of_another", of("rank_0", "x"), of("a", "rank_0", "rank_1"), nil, "rank_#"},
		{"random_states", of("random_states_0.pkl"), of("random_states_0.pkl", "random_states_1.pkl"), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if kind, have, had := checkpoint.Fewer(c.have, c.had, c.counted); kind != c.want {
				t.Errorf("%d of %d files %q, want %q", have, had, kind, c.want)
			}
		})
	}
}

// TestLacks_inTheMaking has a file under names that it has while it is written: they are no other kind of file, which would say that the
// run was changed.
func TestLacks_inTheMaking(t *testing.T) {
	before := []checkpoint.File{{Path: "model.pt"}, {Path: "optim.pt"}}
	for name, want := range map[string]string{
		".optim.pt.Ab3xYz": "optim.pt", "optim.pt.incomplete": "optim.pt", "optim.pt.partial": "optim.pt", "tmp_optim.pt": "optim.pt", "optim.pt.tmp.17": "optim.pt",
		".~tmp~/optim.pt": "optim.pt", "optim.pt~": "optim.pt", "optim.pt_tmp": "optim.pt", "optimizer.pt": "", ".optim.pt": "", "temporal.pt": "",
	} {
		if got := checkpoint.Lacks([]checkpoint.File{{Path: "model.pt"}, {Path: name}}, before); got != want {
			t.Errorf("with %s it has no %q, want %q", name, got, want)
		}
	}
}

// TestOLMo has checkpoints of OLMo-core, which needs the state of the first rank.
func TestOLMo(t *testing.T) {
	all := texts{"model_and_optim/.metadata": "__0_0.distcp", "model_and_optim/__0_0.distcp": "w", "train/rank0.pt": "w", "train/rank1.pt": "w", ".metadata.json": "{}"}
	alone := all.without("train/rank0.pt").without("train/rank1.pt")
	judges(t, []judged{
		{"all", all, "", false},
		{"without_the_first_rank", all.without("train/rank0.pt"), "train/rank0.pt is not there", false},
		{"the_weights_alone", alone, "", false},
	})
	if v := checkpoint.Stored(checkpoint.Set{Files: alone.files()}); !v.Slow || v.Why != "train/rank0.pt is not there yet" {
		t.Errorf("the weights alone are %+v", v)
	}
	if v := checkpoint.Stored(checkpoint.Set{Files: all.without(".metadata.json").files()}); !v.Slow || v.Why != ".metadata.json is not there yet" {
		t.Errorf("without .metadata.json it is %+v", v)
	}
}

// files are those of a checkpoint, of which nothing is read.
func (t texts) files() []checkpoint.File {
	var all []checkpoint.File
	for p, text := range t {
		all = append(all, checkpoint.File{Path: p, SizeBytes: int64(len(text))})
	}
	return all
}

// TestNeverEmpty has files of TensorFlow and Orbax of which nothing was written.
func TestNeverEmpty(t *testing.T) {
	for _, name := range []string{"v.index", "variables/variables.data-00000-of-00001", "saved_model.pb", "items/manifest.ocdbt", "items/_METADATA"} {
		if v := checkpoint.Stored(checkpoint.Set{Files: texts{name: "", "x": "x"}.files()}); v.Torn != name+" has 0 bytes" {
			t.Errorf("an empty %s: %+v", name, v)
		}
	}
	if v := checkpoint.Stored(checkpoint.Set{Files: texts{"d/0123": "", "data": "", "x.data-1": "", "x": "x"}.files()}); v.Torn != "" {
		t.Errorf("others that are empty: %+v", v)
	}
}
