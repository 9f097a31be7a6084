package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/slurm"
)

// TestScriptIsTooLong submits scripts that are longer than Slurm takes by default, and
// than it says that it takes.
func TestScriptIsTooLong(t *testing.T) {
	for conf, want := range map[string]string{
		"": "Slurm takes 4.0 MiB (max_script_size)",
		"SchedulerParameters = bf_interval=3,max_script_size=5000000,defer": "Slurm takes 4.8 MiB (max_script_size)",
		"SchedulerParameters = max_script_size=9000000":                     "",
	} {
		file := filepath.Join(t.TempDir(), "long.sbatch")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+strings.Repeat("# what else\n", 6e5)), 0o600); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		a := &app{in: strings.NewReader(""), out: io.Discard, err: &said}
		_, err := a.submit(t.Context(), slurm.Client{Runner: answers{"scontrol show config": conf}}, batchScript{file: file, called: "long.sbatch", force: true}, jobWishes{})
		if err == nil {
			t.Fatal("a Slurm that does not answer has taken a script")
		}
		text := said.String() + err.Error()
		if found := strings.Contains(text, "long.sbatch: error: the file has 6.9 MiB, too much for a batch script [script/size]"); found != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%q: %q", conf, text)
		}
	}
}

// refusing is a Slurm that takes no script.
type refusing struct {
	answers
	words string
}

func (r refusing) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	if name == "sbatch" {
		return nil, &slurm.ProgramError{Program: name, Stderr: "sbatch: error: Batch job submission failed: " + r.words}
	}
	return r.answers.Run(ctx, name, args...)
}

// TestScriptIsLongerThanThisSlurmTakes submits scripts of usual size to a Slurm that takes
// less, and whose sbatch names no size.
func TestScriptIsLongerThanThisSlurmTakes(t *testing.T) {
	const path = "Pathname of a file, directory or other parameter too long"
	for _, row := range []struct{ conf, words, want string }{
		{"SchedulerParameters = max_script_size=1000", path,
			path + "; the script has 2.0 KiB, and Slurm takes 1000 B (max_script_size): let it read its data from a file of its own"},
		{"SchedulerParameters = max_script_size=9000", path, path},
		{"SchedulerParameters = max_script_size=1000", "Invalid account", "Invalid account"},
	} {
		file := filepath.Join(t.TempDir(), "a.sbatch")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+strings.Repeat("#\n", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		a := &app{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
		client := slurm.Client{Runner: refusing{answers{"scontrol show config": row.conf, "show partition": "", "--detail show node": ""}, row.words}}
		_, err := a.submit(t.Context(), client, batchScript{file: file, called: "a.sbatch", force: true}, jobWishes{})
		if err == nil || !strings.HasSuffix(err.Error(), ": "+row.want) {
			t.Errorf("%s, %s: got %v, want %q", row.conf, row.words, err, row.want)
		}
	}
}
