package container

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// held is a container that a helper holds.
type held struct {
	t      *testing.T
	cmd    *exec.Cmd
	step   *os.File // the life pipe's end
	answer *os.File
	fields []string
	space  string
	stderr *bytes.Buffer
	user   User
}

// startHold makes a container to join, from a helper that starts as starter.
func startHold(t *testing.T, starter User, o Options) *held {
	t.Helper()
	h := launchHold(t, starter, o, nil)
	h.awaitAnswer()
	return h
}

// launchHold starts a holder, whose answer comes behind what lies before it in the pipe.
func launchHold(t *testing.T, starter User, o Options, before []byte) *held {
	t.Helper()
	h := &held{t: t, stderr: &bytes.Buffer{}, user: o.User}
	answer, to, err := os.Pipe()
	if err == nil {
		_, err = to.Write(before)
	}
	if err != nil {
		t.Fatal(err)
	}
	from, step, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h.cmd = command(t, starter, helperCall{Hold: true, Options: o})
	h.cmd.ExtraFiles = []*os.File{to, from}
	h.cmd.Stderr = h.stderr
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.step, h.answer = step, answer
	to.Close()
	from.Close()
	t.Cleanup(func() { h.end() })
	return h
}

// awaitAnswer waits for the answer.
func (h *held) awaitAnswer() {
	h.t.Helper()
	h.fields = h.read()
	if h.fields[0] == "ok" {
		var err error
		if h.space, err = mountSpace(h.pid()); err != nil {
			h.t.Fatal(err)
		}
	}
}

// read reads an answer.
func (h *held) read() []string {
	h.t.Helper()
	var fields []string
	var field []byte
	b := make([]byte, 1)
	for {
		n, err := h.answer.Read(b)
		switch {
		case err == io.EOF && len(fields) == 0:
			h.t.Fatalf("no answer: %s", h.stderr)
		case err == io.EOF:
			return fields
		case err != nil:
			h.t.Fatal(err)
		case n == 1 && b[0] != 0:
			field = append(field, b[0])
		case len(field) == 0 && (len(fields) >= 5 || len(fields) > 0 && fields[0] == "error" && len(fields) >= 3):
			return fields
		default:
			fields, field = append(fields, string(field)), nil
		}
	}
}

func (h *held) pid() int {
	pid, err := strconv.Atoi(h.fields[1])
	if err != nil {
		h.t.Fatalf("answer %q: %v", h.fields, err)
	}
	return pid
}

// task starts a command in the container as the plugin's tasks do.
func (h *held) task(script string) *exec.Cmd {
	h.t.Helper()
	ns := fmt.Sprintf("/proc/%d/ns/", h.pid())
	cmd := exec.Command("nsenter", "--preserve-credentials", "--user="+ns+"user", "--mount="+ns+"mnt", "--", "/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=/bin:/usr/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.user.credential(), Setpgid: true}
	return cmd
}

// end ends the step and returns how the holder ended.
func (h *held) end() error {
	h.step.Close()
	timer := time.AfterFunc(5*time.Minute, func() { _ = h.cmd.Process.Kill() })
	defer timer.Stop()
	return h.cmd.Wait()
}

// nothingLeft fails unless all of a container goes.
func (h *held) nothingLeft() {
	h.t.Helper()
	nothingLeft(h.t, h.space)
}

func nothingLeft(t *testing.T, space string) {
	t.Helper()
	var left string
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
		if left = leftOf(t, space); left == "" {
			return
		}
		pause()
	}
	t.Errorf("left: %s", left)
}

func leftOf(t *testing.T, space string) string {
	t.Helper()
	pids, err := residents(space, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(pids) > 0 {
		return fmt.Sprintf("processes %d", pids)
	}
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, l := range loops {
		if data, err := os.ReadFile(l); err == nil && strings.HasPrefix(string(data), shared.dir) {
			return "loop device of " + string(data)
		}
	}
	if pid := fuseOf(t); pid != 0 {
		return fmt.Sprintf("squashfuse %d", pid)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), runDir) || strings.Contains(string(mounts), "squashfuse") {
		return "mounts: " + string(mounts)
	}
	return ""
}

// fuseOf finds a squashfuse that has an image of this test open.
func fuseOf(t *testing.T) int {
	t.Helper()
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, l := range links {
		to, err := os.Readlink(l)
		if err != nil || !strings.HasPrefix(to, shared.dir) || !strings.HasSuffix(to, ".sqsh") {
			continue
		}
		name, _ := os.ReadFile(filepath.Join("/proc", strings.Split(l, "/")[2], "comm"))
		if pid, err := strconv.Atoi(strings.Split(l, "/")[2]); err == nil && strings.HasPrefix(string(name), "squashfuse") {
			return pid
		}
	}
	return 0
}

// pause lets others run for a moment.
func pause() { _, _ = unix.Poll(nil, 10) }
