package export_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// recorded is a file of the package checkpoint's tests.
func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../data/checkpoint/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// twoOf has a checkpoint, a later one of the same files, and a pointer to it.
func twoOf(first, second, pointer, text string, of files) files {
	all := files{pointer: text}
	for p, content := range of {
		all[first+"/"+p], all[second+"/"+p] = content, content
	}
	return all
}

// tornCases are runs of which the later checkpoint lacks a file, or has another one in its place, and what is said of it.
func tornCases(t *testing.T) map[string]struct {
	all        files
	later      string
	file, text string // "" for none
	why        string
} {
	model := recorded(t, "deepspeed-zero2.pkl")
	type torn = struct {
		all             files
		later           string
		file, text, why string
	}
	deep := twoOf("global_step100", "global_step200", "latest", "global_step200", files{"mp_rank_00_model_states.pt": model,
		"zero_pp_rank_0_mp_rank_00_optim_states.pt": "o", "zero_pp_rank_1_mp_rank_00_optim_states.pt": "o"})
	megatron := twoOf("iter_0000100", "iter_0000200", "latest_checkpointed_iteration.txt", "200", files{"common.pt": "c", ".metadata": "__0_0.distcp", "__0_0.distcp": "w",
		"metadata.json": `{"sharded_backend": "torch_dist", "common_backend": "torch"}`})
	trainer := twoOf("checkpoint-1", "checkpoint-2", "best/latest", "x", files{"pytorch_model.bin": "w", "training_args.bin": "a", "optimizer.pt": "o", "scheduler.pt": "s", "config.json": "{}",
		"rng_state_0.pth": "r", "rng_state_1.pth": "r", "rng_state_2.pth": "r", "trainer_state.json": "{}"})
	listed := twoOf("step-1", "step-2", "latest", "step-2", files{"a.bin": "0123", "manifest.json": `{"files": [{"path": "a.bin", "size": 4}]}`})
	orbax := twoOf("step_100", "step_200", "train.log", "line", files{"d/x": "w", "commit_success.txt": "done"})
	return map[string]torn{
		"deepspeed_last_rank": {deep, "global_step200", "zero_pp_rank_1_mp_rank_00_optim_states.pt", "", "the optimizer's states of rank 1 (0 of model parallel) are not there"},
		"deepspeed_model":     {deep, "global_step200", "mp_rank_00_model_states.pt", "", "the model's states of rank 0 are not there"},
		"megatron_common":     {megatron, "iter_0000200", "common.pt", "", "common.pt, which is written first, is not there"},
		"trainer_rank":        {trainer, "checkpoint-2", "rng_state_1.pth", "", "rng_state_1.pth is not there"},
		"trainer_scheduler":   {trainer, "checkpoint-2", "scheduler.pt", "", "scheduler.pt is not there"},
		"trainer_config":      {trainer, "checkpoint-2", "config.json", "{", "config.json: it is JSON without an end"},
		"zeros":               {trainer, "checkpoint-2", "optimizer.pt", strings.Repeat("\x00", 3000), "optimizer.pt: it begins with zeros, as a file whose bytes were lost in a power cut"},
		"manifest":            {listed, "step-2", "a.bin", "01", "a.bin has 2 bytes, and manifest.json says 4"},
		"orbax":               {orbax, "step_200", "commit_success.txt", "", "commit_success.txt is not there, which others of its run have"},
	}
}

// TestTornStaysAsRestoreSays has a later checkpoint that restore would pass over: nothing of it goes, nor a pointer to it, until it is written again.
func TestTornStaysAsRestoreSays(t *testing.T) {
	for name, c := range tornCases(t) {
		t.Run(name, func(t *testing.T) {
			dir, fake := t.TempDir(), &storetest.Fake{}
			torn, want := maps.Clone(c.all), files{}
			delete(torn, c.later+"/"+c.file)
			if c.text != "" {
				torn[c.later+"/"+c.file] = c.text
			}
			var blocked []string
			for p, text := range torn {
				named := strings.HasPrefix(p, "latest")
				if named || strings.HasPrefix(p, c.later+"/") {
					blocked = append(blocked, p)
					continue
				}
				want["fsx1/"+p] = text
			}
			delete(want, "fsx1/best/latest")
			write(t, dir, torn)
			m := mirror(dir, fake)
			for hours := range 3 {
				if _, err := m.Round(t.Context(), soon().Add(time.Duration(hours)*time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			have := bucket(t, fake)
			delete(have, "fsx1/best/latest")
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			_, why := m.Track.Left()
			for _, p := range blocked {
				if got, want := why[p], c.later+" is not whole: "+c.why; got != want && !strings.HasPrefix(p, "latest") || got == "" {
					t.Errorf("%s is blocked: %q, want %q", p, got, want)
				}
			}
			write(t, dir, files{c.later + "/" + c.file: c.all[c.later+"/"+c.file]})
			m.LookAgain()
			for hours := range 3 {
				if _, err := m.Round(t.Context(), soon().Add(time.Duration(hours+4)*time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			if have := bucket(t, fake); len(have) < len(c.all)-1 || have["fsx1/"+c.later+"/"+c.file] != c.all[c.later+"/"+c.file] {
				_, why := m.Track.Left()
				t.Errorf("written again, there is %v; %v", have, why)
			}
		})
	}
}

// TestPointerBackToATornOne has a pointer that names a checkpoint of which all that is there is in the bucket, and which is not whole.
func TestPointerBackToATornOne(t *testing.T) {
	dir, fake := t.TempDir(), &storetest.Fake{}
	all := tornCases(t)["deepspeed_last_rank"].all
	write(t, dir, all)
	m := mirror(dir, fake)
	m.Rule.Deleted = false
	finish(t, m)
	if err := os.Remove(filepath.Join(dir, "global_step100/zero_pp_rank_1_mp_rank_00_optim_states.pt")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, files{"latest": "global_step100"})
	m.LookAgain()
	var result export.Result
	for hours := range 3 {
		var err error
		if result, err = m.Round(t.Context(), soon().Add(time.Duration(hours+9)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	const why = "global_step100 is not whole: the optimizer's states of rank 1 (0 of model parallel) are not there"
	if _, blocked := m.Track.Left(); blocked["latest"] != why || len(result.Blocked) != 1 {
		t.Errorf("it is blocked: %v", blocked)
	}
	if got := bucket(t, fake)["fsx1/latest"]; got != "global_step200" {
		t.Errorf("latest names %s", got)
	}
}
