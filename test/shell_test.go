package test

import (
	"os/exec"
	"strings"
	"testing"
)

// shellHasTerminal: the shell on the head node or on a node has a terminal of that
// machine, and its exit code is the command's.
func shellHasTerminal(t *testing.T, c *cluster) {
	for name, row := range map[string]struct {
		args []string
		host string
	}{"head": {[]string{"shell"}, "whole-head"}, "node": {[]string{"shell", "--node", first}, first}} {
		t.Run(name, func(t *testing.T) {
			of := c.command(row.args...)
			cmd := exec.Command("script", "--quiet", "--return", "--command", strings.Join(of.Args, " "), "/dev/null")
			cmd.Dir, cmd.Env = of.Dir, of.Env
			cmd.Stdin = strings.NewReader("echo on $(hostname) at $(tty); test -c $(tty); exit 7$?\n")
			out, _ := cmd.Output()
			if code := cmd.ProcessState.ExitCode(); code != 70 || !strings.Contains(string(out), "on "+row.host+" at /dev/pts/") {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
	r := c.run("exec", "--node", "nosuch", "true")
	if want := "muster: cluster whole has no node \"nosuch\"; `muster nodes --all` lists them\n"; r.code != 1 || r.stderr != want {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
	if r := c.run("exec", "--node", "whole-head", "hostname"); r.code != 0 || r.stdout != "whole-head\n" {
		t.Errorf("exec on the head node by its name: exit code %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	if r := c.run("node", "kill", "whole-head"); r.code != 1 || r.stderr != "muster: whole-head is the head node; `muster nodes --all` lists the nodes\n" {
		t.Errorf("kill of the head node: exit code %d, %q", r.code, r.stderr)
	}
	if r := c.run("shell", "--node", "nosuch"); r.code != 1 || !strings.Contains(r.stderr, "has no node") {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
}
