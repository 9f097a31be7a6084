package test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/sys/shell"
)

// topShowsAJob: `muster top` in a terminal shows a job that runs, follows the terminal's size,
// and leaves the terminal as it was, by its key and by a signal.
func topShowsAJob(t *testing.T, c *cluster) {
	need(t)
	c.file("train.sh", "#!/bin/bash\necho 'Batch 41 Loss: 7.25000, Speed: 1.20 samples/sec, lr: 0.000030'\nsleep 1000\n")
	id := strings.TrimSpace(c.must("job", "submit", "--force", "train.sh"))
	defer c.run("job", "cancel", id)
	socket := filepath.Join(t.TempDir(), "s")
	tmux := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-f", "/dev/null", "-S", socket}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	frame := func() string { return tmux("capture-pane", "-p") }
	shows := func(parts ...string) {
		t.Helper()
		var last string
		c.await("a frame with "+strings.Join(parts, ", "), 0, func() bool {
			last = frame()
			for _, p := range parts {
				if !strings.Contains(last, p) {
					return false
				}
			}
			return true
		})
	}
	of := c.command("top")
	again := "before=$(stty -g); " + shell.Line(of.Args) + "; echo code $?; test \"$before\" = \"$(stty -g)\" && echo as it was"
	start := exec.Command("tmux", "-f", "/dev/null", "-S", socket, "new-session", "-d", "-x", "100", "-y", "30", "/bin/sh")
	start.Dir, start.Env = of.Dir, append(of.Env, "LC_ALL=C.UTF-8", "PS1=$ ")
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	defer exec.Command("tmux", "-S", socket, "kill-server").Run()
	defer func() {
		if t.Failed() {
			t.Logf("the last frame:\n%s", frame())
		}
	}()
	tmux("send-keys", again, "Enter")
	shows("muster top", "train.sh", "41", "7.25", "q quit")
	tmux("send-keys", "Enter")
	shows("job "+id, "Batch 41 Loss: 7.25000")
	tmux("resize-window", "-x", "60", "-y", "20")
	shows("job " + id)
	tmux("send-keys", "q")
	shows("code 0", "as it was")
	tmux("send-keys", "clear; "+again, "Enter")
	shows("muster top", "q quit")
	tmux("send-keys", "C-c")
	shows("code 130", "as it was")
	endBySignal(t, tmux, shows, again)
}

// endBySignal: a signal ends it as well, and sets the terminal right: no frame is left, and what is typed is seen.
func endBySignal(t *testing.T, tmux func(...string) string, shows func(...string), again string) {
	t.Helper()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		tmux("send-keys", "clear; "+again, "Enter")
		shows("muster top", "q quit")
		shell := strings.TrimSpace(tmux("display-message", "-p", "#{pane_pid}"))
		out, err := exec.Command("pgrep", "--parent", shell).Output()
		pid, unread := strconv.Atoi(strings.TrimSpace(string(out)))
		if err := errors.Join(err, unread); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
		shows("code 130", "as it was")
		if last := tmux("capture-pane", "-p"); strings.Contains(last, "q quit") {
			t.Errorf("%s leaves the frame:\n%s", signal, last)
		}
		if mode := strings.TrimSpace(tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}")); mode != "0 1 0" {
			t.Errorf("%s: alternate screen, cursor and mouse are %s", signal, mode)
		}
	}
}
