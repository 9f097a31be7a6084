package export_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// saving is the order in which a program writes two checkpoints.
var saving = []string{
	"run/step-1/__0_0.distcp", "run/step-1/__1_0.distcp", "run/step-1/.metadata", "run/latest",
	"run/step-2/__1_0.distcp", "run/step-2/__0_0.distcp", "run/step-2/.metadata", "run/latest",
}

// save writes the next file, an hour after the one before, as programs do: .metadata says that all is there.
func save(t *testing.T, dir string, n int) {
	t.Helper()
	p, text := filepath.Join(dir, saving[n]), fmt.Sprintf("content %d", n)
	switch filepath.Base(p) {
	case "latest":
		text = fmt.Sprintf("step-%d", n/4+1)
	case ".metadata":
		text = "__0_0.distcp __1_0.distcp"
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(time.Duration(n-100) * time.Hour)
	if err := os.Chtimes(p, at, at); err != nil {
		t.Fatal(err)
	}
}

// TestKilledBetweenTheFilesOfACheckpoint kills the mirror after each of its puts, with the answer lost or not, at each
// moment of the writing: what the bucket says is whole is whole, and in the end all of it is there.
func TestKilledBetweenTheFilesOfACheckpoint(t *testing.T) {
	for _, late := range []bool{false, true} {
		for left := range int32(3) {
			t.Run(fmt.Sprint(left, late), func(t *testing.T) {
				dir, fake := t.TempDir(), &storetest.Fake{}
				for n := range saving {
					save(t, dir, n)
					ctx, kill := context.WithCancel(t.Context())
					dying := &cut{Store: fake, late: late, kill: kill}
					dying.left.Store(left)
					mirror(dir, dying).Round(ctx, time.Now().Add(time.Minute))
					kill()
					wantSealed(t, fake)
				}
				m := mirror(dir, fake)
				finish(t, m)
				have := bucket(t, fake)
				if have["fsx1/run/latest"] != "step-2" || len(have) != 7 {
					t.Errorf("in the end there is %v", have)
				}
			})
		}
	}
}

// wantSealed holds that a checkpoint that says that it is whole has all files, and that latest names none else.
func wantSealed(t *testing.T, fake *storetest.Fake) {
	t.Helper()
	have := bucket(t, fake)
	for _, step := range []string{"step-1", "step-2"} {
		dir := "fsx1/run/" + step + "/"
		_, sealed := have[dir+".metadata"]
		for _, name := range []string{"__0_0.distcp", "__1_0.distcp"} {
			text, ok := have[dir+name]
			if !ok && (sealed || have["fsx1/run/latest"] == step) {
				t.Errorf("%s is whole or named, and has no %s: %v", step, name, have)
			}
			if !ok {
				continue
			}
			o, err := fake.Head(t.Context(), dir+name)
			if err != nil || o.Meta[checkpoint.MetaParts] != "3" {
				t.Errorf("%s with %q says that it is one of %v, %v", dir+name, text, o.Meta, err)
			}
		}
	}
}

// TestOldCheckpointsGo has a bucket in which two stay, while the directory keeps all, and nothing goes back and forth.
func TestOldCheckpointsGo(t *testing.T) {
	dir, fake := t.TempDir(), &storetest.Fake{}
	all := files{}
	for n := range 4 {
		all[fmt.Sprintf("run/checkpoint-%d/model.bin", n)] = fmt.Sprint("weights ", n)
	}
	all["run/latest"] = "checkpoint-3"
	write(t, dir, all)
	m := mirror(dir, fake)
	m.Rule.Keep = checkpoint.Policy{Last: 2}
	for n := range 4 {
		if _, err := m.Round(t.Context(), soon().Add(time.Duration(n)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	want := files{"fsx1/run/checkpoint-2/model.bin": "weights 2", "fsx1/run/checkpoint-3/model.bin": "weights 3", "fsx1/run/latest": "checkpoint-3"}
	if diff := cmp.Diff(want, bucket(t, fake)); diff != "" {
		t.Error(diff)
	}
	report, err := export.Verify(t.Context(), m.Rule, fake)
	if err != nil || !report.OK() || report.Matched != 3 {
		t.Errorf("verify says %+v, %v", report, err)
	}
	puts := fake.Puts()
	result, err := m.Round(t.Context(), soon().Add(5*time.Hour))
	if err != nil || result.Pending != 0 || len(result.Deleted) != 0 || fake.Puts() != puts {
		t.Errorf("it goes on: %+v, %v", result, err)
	}
	for p := range all {
		if _, err := os.Stat(filepath.Join(dir, p)); err != nil {
			t.Error(err)
		}
	}
}
