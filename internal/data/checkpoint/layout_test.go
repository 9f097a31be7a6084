package checkpoint_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
)

var start = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// recorded reads a list of files of testdata, with the times at which they were written.
func recorded(t testing.TB, name string) []checkpoint.File {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []checkpoint.File
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var file checkpoint.File
		var after int
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		if _, err := fmt.Sscan(lines.Text(), &file.SizeBytes, &after, &file.Path); err != nil {
			t.Fatal(err)
		}
		file.Changed = start.Add(time.Duration(after) * time.Microsecond)
		all = append(all, file)
	}
	return all
}

// in is what is below a directory.
func in(dir string, all []checkpoint.File) []checkpoint.File {
	var inside []checkpoint.File
	for _, f := range all {
		if rest, ok := strings.CutPrefix(f.Path, dir+"/"); ok && checkpoint.Part(f.Path) {
			f.Path = rest
			inside = append(inside, f)
		}
	}
	return inside
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// layouts are checkpoints as programs write them.
var layouts = []struct {
	name, dir, layout string
	begins            map[string]string // of the files of a checkpoint: file of testdata
	seals             []string
	mute              bool   // nothing says that it is whole
	slow              string // why it has to be quiet if no pointer names it
	written           []string
	optional          []string // what a bucket's checkpoint may lack, as far as can be told without another one
}{
	{name: "dcp", dir: "step-100", layout: "torch distributed checkpoint", begins: map[string]string{".metadata": "dcp.metadata"}, seals: []string{".metadata"}, written: []string{".metadata", "__0_0.distcp", "__1_0.distcp", "__2_0.distcp"}},
	{name: "deepspeed-zero2", dir: "global_step2", layout: "DeepSpeed", begins: map[string]string{"mp_rank_00_model_states.pt": "deepspeed-zero2.pkl"}, slow: "the latest beside it does not name it yet"},
	{name: "deepspeed-zero3", dir: "global_step2", layout: "DeepSpeed", begins: map[string]string{"zero_pp_rank_0_mp_rank_00_model_states.pt": "deepspeed-zero3.pkl"}, slow: "the latest beside it does not name it yet"},
	{name: "trainer", dir: "checkpoint-4", layout: "Hugging Face", seals: []string{"trainer_state.json"}, written: []string{"trainer_state.json"}, optional: []string{"config.json", "generation_config.json"}},
	{name: "accelerate", dir: "checkpoint-20", layout: "files", mute: true, optional: []string{"model.safetensors", "optimizer.bin", "random_states_0.pkl", "scheduler.bin"}},
	{name: "megatron-dist", dir: "iter_0000100", layout: "Megatron", seals: []string{".metadata", "metadata.json"}, written: []string{".metadata", "metadata.json"}, optional: []string{"common.pt", "__0_0.distcp", "__0_1.distcp", "__1_0.distcp", "__1_1.distcp"}},
	{name: "megatron-legacy", dir: "iter_0000100", layout: "Megatron", slow: "its tracker file does not name it yet"},
	{name: "example", dir: "checkpoint-00000050", layout: "files with a manifest", begins: map[string]string{"manifest.json": "example.json"}, seals: []string{"manifest.json"}, written: []string{"model.pt", "optimizer.pt"}, optional: []string{"manifest.json"}},
}

func TestLayouts(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			s := checkpoint.Set{Dir: l.dir, Files: in(l.dir, recorded(t, l.name)), Begins: map[string][]byte{}}
			for p, file := range l.begins {
				s.Begins[p] = read(t, file)
			}
			v := checkpoint.Written(s)
			if v.Layout != l.layout || v.Torn != "" || v.Mute != l.mute || v.Why != l.slow || !cmp.Equal(v.Seals, l.seals) {
				t.Errorf("it is %+v", v)
			}
			if v := checkpoint.Stored(s); v.Torn != "" || v.Mute != l.mute {
				t.Errorf("in a bucket it is %+v", v)
			}
			s.Named = true
			if v := checkpoint.Written(s); v.Torn != "" || v.Quiet != 0 || v.Mute {
				t.Errorf("named, it is %+v", v)
			}
			for i, f := range s.Files {
				torn := s
				torn.Files = slices.Delete(slices.Clone(s.Files), i, i+1)
				if got, want := checkpoint.Stored(torn).Torn != "", !slices.Contains(l.optional, f.Path); got != want {
					t.Errorf("in a bucket without %s: torn is %v", f.Path, got)
				}
				if got, want := checkpoint.Written(torn).Torn != "", !slices.Contains(l.optional, f.Path); got != want {
					t.Errorf("named, without %s: torn is %v", f.Path, got)
				}
				torn.Begins, torn.Named = nil, false
				if got := checkpoint.Written(torn).Torn != ""; got && !slices.Contains(l.written, f.Path) {
					t.Errorf("in its directory without %s: torn is %v", f.Path, got)
				}
				if lack := checkpoint.Lacks(torn.Files, s.Files); lack == "" && len(torn.Files)+1 == len(kindsOf(s.Files)) {
					t.Errorf("without %s nothing is lacking beside another one", f.Path)
				}
			}
		})
	}
}

// kindsOf are the names without numbers.
func kindsOf(files []checkpoint.File) map[string]bool {
	all := map[string]bool{}
	for _, f := range files {
		all[strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, f.Path)] = true
	}
	return all
}

// TestAsTheyAreWritten replays the writing of each checkpoint: at no moment before its last file is it whole without
// being quiet, and it never is torn once that is there.
func TestAsTheyAreWritten(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			files := in(l.dir, recorded(t, l.name))
			slices.SortStableFunc(files, func(a, b checkpoint.File) int { return a.Changed.Compare(b.Changed) })
			for n := 1; n < len(files); n++ {
				v := checkpoint.Written(checkpoint.Set{Dir: l.dir, Files: files[:n]})
				if v.Torn == "" && v.Quiet == 0 && !v.Mute {
					t.Errorf("with %d of %d files it is whole: %+v", n, len(files), v)
				}
			}
		})
	}
}

func TestWritten(t *testing.T) {
	at := func(seconds int, paths ...string) []checkpoint.File {
		var all []checkpoint.File
		for i, p := range paths {
			all = append(all, checkpoint.File{Path: p, SizeBytes: 3, Changed: start.Add(time.Duration(seconds+i) * time.Second)})
		}
		return all
	}
	for _, c := range []struct {
		name string
		set  checkpoint.Set
		want checkpoint.Verdict
	}{
		{"files", checkpoint.Set{Files: at(0, "model.bin")}, checkpoint.Verdict{Layout: "files", Mute: true}},
		{"marker", checkpoint.Set{Files: at(0, "model.bin", ".complete")}, checkpoint.Verdict{Layout: "files", Seals: []string{".complete"}}},
		{"marker_of_orbax", checkpoint.Set{Files: at(0, "model.bin", "commit_success.txt")}, checkpoint.Verdict{Layout: "files", Seals: []string{"commit_success.txt"}}},
		{"marker_of_a_part", checkpoint.Set{Files: at(0, "sub/model.bin", "sub/.complete")}, checkpoint.Verdict{Layout: "files", Mute: true}},
		{"marker_to_come", checkpoint.Set{Files: at(0, "model.bin"), Marker: "_SUCCESS"}, checkpoint.Verdict{Layout: "files", Quiet: checkpoint.Patience, Why: "_SUCCESS is not there yet", Mute: true}},
		{"written_again", checkpoint.Set{Files: at(0, ".metadata", "__0_0.distcp")}, checkpoint.Verdict{Layout: "torch distributed checkpoint", Seals: []string{".metadata"}, Quiet: time.Minute, Why: "__0_0.distcp is newer than .metadata"}},
		{"being_renamed", checkpoint.Set{Files: at(0, "__0_0.distcp")}, checkpoint.Verdict{Layout: "torch distributed checkpoint", Torn: ".metadata, which is written last, is not there"}},
		{"nemo_unfinished", checkpoint.Set{Dir: "m--step=5", Files: at(0, "weights/.metadata"), Unfinished: true}, checkpoint.Verdict{Layout: "NeMo", Torn: "m--step=5-unfinished says that it is being written"}},
		{"nested", checkpoint.Set{Files: at(0, "optimizer_0/.metadata", "pytorch_model_fsdp_0/__0_0.distcp", "trainer_state.json")}, checkpoint.Verdict{Layout: "Hugging Face", Torn: "pytorch_model_fsdp_0/.metadata, which is written last, is not there", Seals: []string{"trainer_state.json"}}},
		{"weights_alone_by_hand", checkpoint.Set{Files: at(0, "model.safetensors", "training_args.bin")}, checkpoint.Verdict{Layout: "Hugging Face", Quiet: checkpoint.Patience, Why: "trainer_state.json is not there yet", Slow: true}},
		{"trainer_half_way", checkpoint.Set{Files: at(0, "model.safetensors", "training_args.bin", "optimizer.pt")}, checkpoint.Verdict{Layout: "Hugging Face", Torn: "trainer_state.json, which is written last, is not there"}},
		{"trainer_over_deepspeed", checkpoint.Set{Files: at(0, "global_step5/mp_rank_00_model_states.pt", "latest", "trainer_state.json", "training_args.bin")[:3]}, checkpoint.Verdict{Layout: "Hugging Face", Seals: []string{"trainer_state.json"}}},
		{"shard_of_weights", checkpoint.Set{Files: at(0, "model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors")}, checkpoint.Verdict{Layout: "files", Torn: "model-00002-of-00003.safetensors is not there", Counted: []string{"model-#-of-#.safetensors"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, checkpoint.Written(c.set)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestIndex has a real index of Hugging Face: each shard that it names is missing in turn.
func TestIndex(t *testing.T) {
	var files []checkpoint.File
	for n := range 6 {
		files = append(files, checkpoint.File{Path: fmt.Sprintf("model-%05d-of-00006.safetensors", n+1), SizeBytes: 4000})
	}
	files = append(files, checkpoint.File{Path: "model.safetensors.index.json", SizeBytes: 2140})
	s := checkpoint.Set{Dir: "checkpoint-1", Files: files, Begins: map[string][]byte{"model.safetensors.index.json": read(t, "sharded.index.json")}}
	if v := checkpoint.Stored(s); v.Torn != "" {
		t.Errorf("it is %+v", v)
	}
	for i := range 6 {
		torn := s
		torn.Files = slices.Delete(slices.Clone(files), i, i+1)
		if v := checkpoint.Stored(torn); v.Torn != files[i].Path+", which model.safetensors.index.json names, is not there" {
			t.Errorf("without %s it is %+v", files[i].Path, v)
		}
	}
}

func TestMarkers(t *testing.T) {
	dirs := []string{"a/step-1", "a/step-2", "a/step-3", "b/step-1", "c", "e/step-1"}
	paths := []string{"e/step-1/commit_success.txt", "a/step-1/x", "a/step-2/COMPLETE", "a/step-3/.complete", "a/DONE", "b/step-1/sub/_SUCCESS", "c/DONE", "d/step-1/DONE"}
	if diff := cmp.Diff(map[string]string{"a": "COMPLETE", ".": "DONE", "e": "commit_success.txt"}, checkpoint.Markers(slices.Values(paths), dirs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDirs(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		want  []string
	}{
		{"by_name", []string{"run/checkpoint-5/a", "run/checkpoint-5/sub/b", "run/checkpoint-10/a", "run/latest", "run/train.log"}, []string{"run/checkpoint-10", "run/checkpoint-5"}},
		{"by_content", []string{"a/best/__0_0.distcp", "a/best/.metadata", "a/other/.metadata"}, []string{"a/best"}},
		{"itself", []string{"trainer_state.json", "model.safetensors"}, []string{"."}},
		{"the_model_beside_its_checkpoints", []string{"trainer_state.json", "model.safetensors", "checkpoint-5/trainer_state.json"}, []string{"checkpoint-5"}},
		{"the_outermost", []string{"checkpoint-5/global_step5/mp_rank_00_model_states.pt"}, []string{"checkpoint-5"}},
		{"a_run_in_an_epoch", []string{"epoch_1/checkpoint-5/a", "epoch_1/checkpoint-6/a"}, []string{"epoch_1/checkpoint-5", "epoch_1/checkpoint-6"}},
		{"a_directory_for_them", []string{"checkpoint_dir/checkpoint-5/a", "checkpoints/step-3/a"}, []string{"checkpoint_dir/checkpoint-5", "checkpoints/step-3"}},
		{"megatron", []string{"m/iter_0000005/mp_rank_00/model_optim_rng.pt", "m/release/mp_rank_00/model_optim_rng.pt"}, []string{"m/iter_0000005", "m/release"}},
		{"nemo", []string{"n/m--loss=1.2-step=99-last/weights/.metadata", "n/m--loss=1.2-step=99-last/weights/__0_0.distcp"}, []string{"n/m--loss=1.2-step=99-last"}},
		{"temporary", []string{"run/.tmp-checkpoint-5/a", "run/checkpoint-5.tmp/__0_0.distcp"}, nil},
		{"numbers_of_lingua", []string{"c/0000000100/__0_0.distcp", "c/0000000200/.metadata", "c/0000000200/__0_0.distcp"}, []string{"c/0000000100", "c/0000000200"}},
		{"numbers_of_nanotron", []string{"c/100/checkpoint_metadata.json", "c/100/model/model/decoder/0/x.safetensors", "c/200/model/a"}, []string{"c/100"}},
		{"numbers_of_orbax", []string{"c/100/_CHECKPOINT_METADATA", "c/200/items/manifest.ocdbt", "c/300/items/ocdbt.process_0/manifest.ocdbt", "c/400/commit_success.txt", "c/500/state/_METADATA", "c/600/a"}, []string{"c/100", "c/200", "c/300", "c/400", "c/500"}},
		{"unfinished_of_orbax", []string{"7/100.orbax-checkpoint-tmp-17/items/manifest.ocdbt", "7/200/items.orbax-checkpoint-tmp-17/manifest.ocdbt"}, []string{"7/200"}},
		{"numbers_of_jobs", []string{"17/checkpoint-5/a", "17/trainer_state.json", "18/step_5/items/manifest.ocdbt", "2024/readme"}, []string{"17/checkpoint-5", "18/step_5"}},
		{"numbers_in_an_epoch", []string{"epoch_1/100/__0_0.distcp", "epoch_1/200/__0_0.distcp", "epoch_2/a"}, []string{"epoch_1/100", "epoch_1/200", "epoch_2"}},
		{"of_composer", []string{"run/ep0-ba100/__0_0.distcp", "run/ep0-ba200/rank0.pt"}, []string{"run/ep0-ba100", "run/ep0-ba200"}},
		{"none", []string{"data/train-00001.tar", "steps/readme", "checkpoints/a"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, checkpoint.Dirs(slices.Values(c.files))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStep(t *testing.T) {
	for name, want := range map[string]int64{
		"run/checkpoint-500": 500, "global_step12": 12, "iter_0000100": 100, "epoch=3-step=1000.ckpt": 1000, "m--val_loss=1.25-step=99-consumed_samples=12.0-last": 99,
		"epoch_3": 3, "ckpt-7": 7, "checkpoint-final": checkpoint.NoStep, "last.ckpt": checkpoint.NoStep, "checkpoint-99999999999999999999": checkpoint.NoStep, "step5.ckpt": 5,
		"0000000100": 100, "run/9000": 9000, "99999999999999999999": checkpoint.NoStep, "+5": checkpoint.NoStep, "ep1-ba200": 200, "m-ep0-ba7": 7, "ep0-ba100-rank0.pt": checkpoint.NoStep,
		"llama_v2-200steps": 200, "200steps": checkpoint.NoStep, "run-200steps-eval": checkpoint.NoStep,
	} {
		if got := checkpoint.Step(name); got != want {
			t.Errorf("%s is of step %d, want %d", name, got, want)
		}
	}
}

func TestTemporary(t *testing.T) {
	for name, want := range map[string]bool{
		"step-1/.tmpAb9xCd": true, "step-1/.tmpAb9xCd/a": true, ".tmp-x": true, "a.part": true, "200.orbax-checkpoint-tmp-17/a": true, "step_200.orbax-checkpoint-tmp/items/a": true, "200/items.orbax-checkpoint-tmp-17/a": false, "x.tmp/a": true,
		"step-1/.tmpAb9xC": false, "step-1/.tmpAb9xCde": false, "step-1/tmpAb9xCd": false, "tmp": false, "a.parts": false,
	} {
		if got := checkpoint.Temporary(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// FuzzBegins reads whatever a file of a bucket may hold.
func FuzzBegins(f *testing.F) {
	for _, name := range []string{"dcp.metadata", "deepspeed-zero2.pkl", "deepspeed-zero3.pkl", "sharded.index.json", "example.json"} {
		f.Add(read(f, name))
	}
	f.Add([]byte("tensor_model_parallel_sizeK\xffpipeline_model_parallel_sizeJ\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, l := range layouts {
			s := checkpoint.Set{Dir: l.dir, Files: in(l.dir, recorded(t, l.name))}
			for i := range s.Files {
				s.Files[i].SizeBytes = int64(len(text))
			}
			for _, by := range []func(checkpoint.Set) checkpoint.Verdict{checkpoint.Stored, checkpoint.Written} {
				s, err := checkpoint.Look(s, by, nil, func(spans []checkpoint.Span) ([][]byte, error) {
					all := make([][]byte, len(spans))
					for i, span := range spans {
						all[i] = text[span.From:][:span.Bytes]
					}
					return all, nil
				})
				if by(s); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// FuzzNames has files of any name.
func FuzzNames(f *testing.F) {
	for _, l := range layouts {
		var all []string
		for _, file := range recorded(f, l.name) {
			all = append(all, file.Path)
		}
		f.Add(strings.Join(all, "\n"))
	}
	f.Add("mp_rank_999999999999_0/model_optim_rng.pt\nx-00001-of-99999999.bin\nzero_pp_rank_999999_mp_rank_999999_model_states.pt\n../checkpoint-1/a\n/checkpoint-2/b")
	f.Fuzz(func(t *testing.T, text string) {
		var files []checkpoint.File
		for p := range strings.SplitSeq(text, "\n") {
			files = append(files, checkpoint.File{Path: p})
		}
		checkpoint.Dirs(strings.SplitSeq(text, "\n"))
		checkpoint.Stored(checkpoint.Set{Dir: ".", Files: files})
		checkpoint.Written(checkpoint.Set{Dir: ".", Files: files})
	})
}
