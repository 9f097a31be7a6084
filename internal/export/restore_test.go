package export_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/restore"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// writers are the files of one checkpoint in the order in which programs write them, and the pointer after them.
var writers = []struct {
	name, dir string // with the step
	files     []string
	pointer   string
}{
	{"dcp", "step-%d", []string{"__0_0.distcp", "__1_0.distcp", "__3_0.distcp", ".metadata"}, ""},
	{"deepspeed", "global_step%d", []string{"zero_pp_rank_0_mp_rank_00_optim_states.pt", "mp_rank_00_model_states.pt", "zero_pp_rank_1_mp_rank_00_optim_states.pt"}, "latest"},
	{"trainer", "checkpoint-%d", []string{"config.json", "model.safetensors", "training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json"}, ""},
	{"megatron", "iter_%07d", []string{"common.pt", "__0_0.distcp", "__0_1.distcp", ".metadata", "metadata.json"}, "latest_checkpointed_iteration.txt"},
	{"marker", "ckpt-%d", []string{"b/model.bin", "a.bin", ".complete"}, "latest"},
	{"nested", "checkpoint-%d", []string{"model.safetensors", "training_args.bin", "global_step1/mp_rank_00_model_states.pt", "latest", "rng_state_0.pth", "trainer_state.json"}, ""},
}

// training writes checkpoints, and an exporter that dies again and again sends them.
type training struct {
	t     *testing.T
	rng   *rand.Rand
	dir   string
	fake  *storetest.Fake
	whole map[string]files // by directory: what it was when it was written to its end
}

// mirror waits longer for a checkpoint that says nothing than its program pauses.
func (j *training) mirror(s store.Store) *export.Mirror {
	m := mirror(j.dir, s)
	m.Rule.Quiet = 24 * time.Hour
	return m
}

// exporting runs a round that is killed after some puts, or lives.
func (j *training) exporting() {
	j.t.Helper()
	ctx, kill := context.WithCancel(j.t.Context())
	defer kill()
	dying := &cut{Store: j.fake, late: j.rng.IntN(2) == 0, kill: kill}
	dying.left.Store(int32(j.rng.IntN(6)))
	m := j.mirror(dying)
	for range j.rng.IntN(3) {
		m.Round(ctx, soon())
	}
	j.restorable()
}

// restorable holds that what a restore would take is a checkpoint as its program wrote it.
func (j *training) restorable() {
	j.t.Helper()
	v, err := restore.Look(j.t.Context(), j.fake, "fsx1", time.Now().Add(24*time.Hour))
	if err != nil {
		j.t.Fatal(err)
	}
	found, passed, err := v.Choose(j.t.Context(), restore.Want{Step: checkpoint.NoStep})
	if err != nil {
		return // there is none yet
	}
	dir := j.t.TempDir()
	if _, err := (&restore.Bring{View: v, Found: found, Dir: dir}).Run(j.t.Context()); err != nil {
		j.t.Fatal(err)
	}
	got := files{}
	for _, f := range found.Files {
		text, err := os.ReadFile(filepath.Join(dir, found.Dir, f.Path))
		if err != nil {
			j.t.Fatal(err)
		}
		got[f.Path] = string(text)
	}
	if want := j.whole[found.Dir]; !cmp.Equal(want, got) {
		j.t.Fatalf("%s was taken (%s) after %v, and is not as it was written:\n%s", found.Dir, found.Proof, passed, cmp.Diff(want, got))
	}
}

func (j *training) write(p, text string) {
	full := filepath.Join(j.dir, p)
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
		j.t.Fatal(err)
	}
}

// formed is what a program writes, in the form that the name says.
func formed(p string, step int) string {
	text := fmt.Sprintf("%s of %d", p, step)
	switch {
	case p == "latest":
		return "global_step1"
	case p == ".metadata":
		return fmt.Sprintf("__0_0.distcp of %d", step)
	case path.Ext(p) == ".json":
		return fmt.Sprintf("{%q: %d}", p, step)
	case path.Ext(p) == ".safetensors":
		header := fmt.Sprintf(`{"w": {"dtype": "U8", "shape": [%d], "data_offsets": [0, %d]}}`, len(text), len(text))
		return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + text
	}
	return text
}

// TestStoppedAtAnyMoment is the promise: whenever the job and the exporter end, a restore gives a checkpoint that was
// written to its end, or none. In the end it gives the last one.
func TestStoppedAtAnyMoment(t *testing.T) {
	for i, w := range writers {
		for seed := range uint64(8) {
			t.Run(fmt.Sprint(w.name, seed), func(t *testing.T) {
				t.Parallel()
				j := &training{t: t, rng: rand.New(rand.NewPCG(seed, uint64(i))), dir: t.TempDir(), fake: &storetest.Fake{}, whole: map[string]files{}}
				last := ""
				for step := range 3 {
					last = "run/" + fmt.Sprintf(w.dir, step+1)
					written := files{}
					for _, p := range w.files {
						written[p] = formed(p, step)
						if path.Ext(p) == ".safetensors" || p == "trainer_state.json" { // of these a half is known
							j.write(path.Join(last, p), written[p][:j.rng.IntN(len(written[p]))])
							j.exporting()
						}
						j.write(path.Join(last, p), written[p])
						if p == w.files[len(w.files)-1] {
							j.whole[last] = written
						}
						j.exporting()
					}
					if w.pointer != "" {
						j.write("run/"+w.pointer, map[bool]string{true: fmt.Sprint(step + 1), false: path.Base(last)}[w.name == "megatron"])
						j.exporting()
					}
				}
				finish(t, j.mirror(j.fake))
				j.restorable()
				v, err := restore.Look(t.Context(), j.fake, "fsx1", time.Now().Add(24*time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				if found, passed, err := v.Choose(t.Context(), restore.Want{Step: checkpoint.NoStep}); err != nil || found.Dir != last {
					t.Errorf("in the end there is %+v after %v, %v", found, passed, err)
				}
			})
		}
	}
}
