package nodes

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestRegister: slurmd below a node's first process is asked to register, unless it has no handler for SIGHUP yet, of which
// it would end; nothing else of the node is.
func TestRegister(t *testing.T) {
	const heeds, deaf = "trap 'echo registers' HUP\n", ""
	for _, row := range []struct{ name, program, trap, want string }{
		{"slurmd", "slurmd", heeds, "registers\n"},
		{"again", "slurmd-wlm", heeds, "registers\n"},
		{"starting", "slurmd", deaf, "end\n"},
		{"other", "slurmstepd", heeds, "end\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), row.program)
			text := "#!/bin/sh\n" + row.trap + "trap 'echo end; exit' TERM\necho ready\nwhile :; do sleep 1000 & wait; kill $!; done\n"
			if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			first := exec.CommandContext(t.Context(), "/bin/sh", "-c", `"$1"; true`, "sh", program)
			first.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			first.Cancel = func() error { return syscall.Kill(-first.Process.Pid, syscall.SIGKILL) }
			out, err := first.StdoutPipe()
			if err == nil {
				err = first.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			said := bufio.NewReader(out)
			if line, err := said.ReadString('\n'); line != "ready\n" {
				t.Fatal(line, err)
			}
			if err := (nodeInit{name: "n", pid: first.Process.Pid}).registerSlurmd(); err != nil {
				t.Fatal(err)
			}
			if row.want == "end\n" { // it comes instead of what SIGHUP would bring
				pids, err := childrenOf(first.Process.Pid)
				if err != nil || len(pids) != 1 || syscall.Kill(pids[0], syscall.SIGTERM) != nil {
					t.Fatalf("children %d: %v", pids, err)
				}
			}
			if line, err := said.ReadString('\n'); line != row.want {
				t.Errorf("%q, %v; want %q", line, err, row.want)
			}
			_ = first.Cancel()
			_ = first.Wait()
		})
	}
}
