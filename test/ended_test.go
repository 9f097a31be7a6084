package test

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// endsWithItsCaller: what muster started on the head node or on a node ends when muster is
// ended, whatever way. Its output ends when the last of it has ended.
func endsWithItsCaller(t *testing.T, c *cluster) {
	// Programs inherit what is ignored: where the tests themselves run under nohup, no HUP would end anything, and where
	// a shell has started them in the background, no INT or QUIT.
	ignored := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(ignored, s)
		}
	}
	t.Cleanup(func() { signal.Stop(ignored) })
	const waits, parent = "echo ready; exec sleep infinity", "echo ready; sleep infinity; true"
	for name, row := range map[string]struct {
		script string
		signal syscall.Signal
		code   int
		// times is how often it is tried: what comes at the very moment of the start is not lost.
		times int
	}{
		"term":         {waits, syscall.SIGTERM, 143, 1},
		"int":          {waits, syscall.SIGINT, 130, 16},
		"hup":          {waits, syscall.SIGHUP, 129, 1},
		"quit":         {waits, syscall.SIGQUIT, 131, 1},
		"kill":         {waits, syscall.SIGKILL, -1, 1},
		"kill_a_tree":  {"sh -c 'sleep infinity; true' & " + parent, syscall.SIGKILL, -1, 1},
		"with_a_child": {parent, syscall.SIGTERM, 143, 1},
		"has_its_word": {"trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.1; done", syscall.SIGTERM, 9, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for range row.times {
				f := c.as(t).follow("exec", "--", "sh", "-c", row.script)
				f.until(t, "ready")
				if err := syscall.Kill(f.cmd.Process.Pid, row.signal); err != nil {
					t.Fatal(err)
				}
				if rest, code := f.end(); code != row.code || strings.Contains(row.script, "bye") != (strings.Join(rest, "") == "bye") {
					t.Fatalf("exit code %d, want %d; then it wrote %q\n%s", code, row.code, rest, &f.stderr)
				}
			}
		})
	}
}

// hearsInterrupts: SIGINT for muster itself is heard also where it was started with that
// ignored, as shells start jobs in the background.
func hearsInterrupts(t *testing.T, c *cluster) {
	c.file("wait.sbatch", "#!/bin/bash\necho ready\nsleep infinity\n")
	f := c.followBy(`trap "" INT; exec "$@"`, "run", "wait.sbatch")
	f.until(t, "ready")
	if err := syscall.Kill(f.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_, code := f.end()
	if code != 130 {
		t.Errorf("exit code %d\n%s", code, &f.stderr)
	}
	c.must("job", "cancel", jobOf(t, f.stderr.String()))
}

// buildEnds: a build ends with what its Dockerfile runs.
func buildEnds(t *testing.T, c *cluster, context string) {
	nap := fmt.Sprintf("86398.%07d", os.Getpid()) // of this run: others build on the same machine
	c.file("context/Waits", "FROM scratch\nADD tree.tar /\nRUN echo ready; sleep "+nap+"; true\n")
	f := c.followBy(`exec "$@" 2>&1`, "image", "build", "--tag", "waits", "--file", filepath.Join(context, "Waits"), context)
	f.until(t, "ready")
	if err := syscall.Kill(f.cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if rest, code := f.end(); code != 130 {
		t.Errorf("exit code %d\n%s", code, strings.Join(rest, "\n"))
	}
	soon(t, 0, "ended with what the Dockerfile runs", func() bool {
		for _, p := range machineProcesses() {
			if strings.Contains(strings.Join(p.args, " "), nap) {
				return false
			}
		}
		return true
	})
	c.builtIsGone()
}
