package cli

import (
	"bytes"
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
		_, err := a.submitScript(t.Context(), slurm.Client{Runner: answers{"scontrol show config": conf}}, batchScript{file: file, called: "long.sbatch", force: true})
		if err == nil {
			t.Fatal("a Slurm that does not answer has taken a script")
		}
		text := said.String() + err.Error()
		if found := strings.Contains(text, "long.sbatch: error: the file has 6.9 MiB, too much for a batch script [script/size]"); found != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%q: %q", conf, text)
		}
	}
}
