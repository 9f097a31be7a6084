package suite

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHolder: what salloc runs removes what was not removed yet, each place by the program that it was named with, before it removes the
// program, and says what it could not remove.
func TestHolder(t *testing.T) {
	for name, c := range map[string]struct{ srun, sent, input, want, says string }{
		"nothing": {"exit 1", "", "", "", ""},
		"all": {"exit 0", "/tmp/sent", "/m\nONE\n/fsx 1\n/m\nTWO\n/fsx2\n\nONE\n/fsx 1\n/m\nTHREE\n-/ $x\n",
			"/m agent verify storage end /fsx2 --run=TWO\n/m agent verify storage end -/ $x --run=THREE\nrm -f /tmp/sent\n", ""},
		"cut off":  {"exit 0", "", "/m\nONE\n", "", ""},
		"no node":  {"exit 1", "", "/m\nONE\n/fsx1\n", "/m agent verify storage end /fsx1 --run=ONE\n", ".muster-verify-ONE may be left in /fsx1\n"},
		"faulty":   {`echo '{"phase":"end","fault":"io"}'`, "", "/m\nONE\n/fsx1\n", "/m agent verify storage end /fsx1 --run=ONE\n", ".muster-verify-ONE may be left in /fsx1\n"},
		"rm fails": {"exit 1", "/tmp/sent", "", "rm -f /tmp/sent\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for program, script := range map[string]string{"squeue": "exit 0", "srun": `while case $1 in -*) ;; *) false ;; esac; do shift; done; echo "$*" >>"$LOG"; ` + c.srun} {
				if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			log := filepath.Join(dir, "log")
			cmd := exec.Command("sh", "-c", holder, "sh", c.sent)
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_JOB_NUM_NODES=2", "LOG=" + log}
			cmd.Stdin = strings.NewReader(c.input)
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			did, _ := os.ReadFile(log)
			if string(out) != "7 n[1-2]\n" || string(did) != c.want || said.String() != c.says {
				t.Errorf("wrote %q, did %q, said %q", out, did, &said)
			}
			if wrong := c.says != "" || name == "rm fails"; wrong != (err != nil) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}
