package sbatch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNew_preflight: what a script says of its node's GPUs, and that the ranks start only where there are enough. A timeout of
// 60 s is made one of a tenth of a second.
func TestNew_preflight(t *testing.T) {
	const eight = "for i in 0 1 2 3 4 5 6 7; do echo \"GPU $i: NVIDIA H200 (UUID: GPU-$i)\"; echo '  MIG 1g.18gb'; done\n"
	for _, row := range []struct {
		name, smi, says string
		code            int
	}{
		{"all_there", eight, "", 7},
		{"one_is_gone", strings.Replace(eight, "6 7", "6", 1), "node-1 shows 7 of 8 GPUs\n", 1},
		{"none", "echo 'No devices found.'; exit 6\n", "node-1 shows 0 of 8 GPUs\n", 1},
		{"no_driver", "echo \"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\"; exit 9\n", "node-1 shows 0 of 8 GPUs\n", 1},
		{"hangs", "sleep 60\n", "node-1 shows none of 8 GPUs: nvidia-smi gave no answer within 60 s\n", 1},
		{"hangs_and_does_not_end", "trap '' TERM\nwhile :; do sleep 1; done\n", "node-1 shows none of 8 GPUs: nvidia-smi gave no answer within 60 s\n", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStage(t, pythonStub)
			cmd := s.command(jobOf(t, s.job("Nodes: 1\nScript: train.py\n")), "SLURMD_NODENAME=node-1")
			script, err := os.ReadFile(cmd.Args[1])
			if err != nil {
				t.Fatal(err)
			}
			short := strings.Replace(string(script), "timeout --kill-after=5 60 ", "timeout --kill-after=0.1 0.3 ", 1)
			if short == string(script) {
				t.Fatal("nothing bounds the look")
			}
			if strings.HasPrefix(row.name, "hangs") {
				err = os.WriteFile(cmd.Args[1], []byte(short), 0o644)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(s.dir, "nvidia-smi"), []byte("#!/bin/bash\n"+row.smi), 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != row.code || !strings.Contains(string(out), row.says) || row.says == "" && strings.Contains(string(out), " shows ") {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
}
