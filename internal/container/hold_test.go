package container

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// holders are who holds containers for whom.
var holders = []struct {
	name          string
	starter, user User
}{
	{"root_for_root", super, super},
	{"root_for_user", super, ordinary},
	{"user", ordinary, ordinary},
}

func TestHold(t *testing.T) {
	fixture(t)
	for _, who := range holders {
		for _, image := range []string{shared.trusted, shared.plain} {
			t.Run(who.name, func(t *testing.T) {
				h := startHold(t, who.starter, Options{Image: image, User: who.user})
				if h.fields[0] != "ok" || h.fields[2] != "user,mnt" || h.fields[3] != "/work dir" {
					t.Fatalf("answer %q", h.fields)
				}
				if code, err := hex.DecodeString(h.fields[4]); err != nil || len(code)%8 != 0 || len(code) == 0 {
					t.Errorf("seccomp filter %q: %v", h.fields[4], err)
				}
				for _, want := range []string{"FROM_IMAGE=yes", "GREETING=image", "WHERE=/home/somebody/x", "PATH=/bin:/usr/bin", "-LANG", "TERM=dumb"} {
					if !slices.Contains(h.fields, want) {
						t.Errorf("no %s in %q", want, h.fields)
					}
				}
				got, err := h.task("id -u; cat /opt/file").CombinedOutput()
				if want := itoa(who.user.UID) + "\nof the image\n"; err != nil || string(got) != want {
					t.Errorf("task: %q, %v; want %q", got, err, want)
				}
				h.unprivileged()
				if err := h.end(); err != nil {
					t.Errorf("end: %v: %s", err, h.stderr)
				}
				h.nothingLeft()
			})
		}
	}
}

// unprivileged fails unless the holder and all that serves it are the user's.
func (h *held) unprivileged() {
	h.t.Helper()
	for _, pid := range []int{h.pid(), h.cmd.Process.Pid, fuseOf(h.t)} {
		if pid != 0 && !belongs(pid, h.user) {
			h.t.Errorf("process %d does not belong to user %d", pid, h.user.UID)
		}
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.pid()))
	if err != nil || len(fds) > 4 {
		h.t.Errorf("the container's process has %d files open: %v", len(fds), err)
	}
}

func TestHoldForManyTasks(t *testing.T) {
	fixture(t)
	h := startHold(t, super, Options{Image: shared.plain, User: ordinary, Writable: true})
	const tasks = 16
	var wait sync.WaitGroup
	for i := range tasks {
		wait.Go(func() {
			script := fmt.Sprintf("echo %d > /task.%d; while test $(ls / | grep -c task) -lt %d; do :; done; ls /dev/shm >/dev/null", i, i, tasks)
			if out, err := h.task(script).CombinedOutput(); err != nil {
				t.Errorf("task %d: %v: %s", i, err, out)
			}
		})
	}
	wait.Wait()
	if err := h.end(); err != nil {
		t.Error(err)
	}
	h.nothingLeft()
}

func TestHoldForTwoUsers(t *testing.T) {
	fixture(t)
	a := startHold(t, super, Options{Image: shared.trusted, User: ordinary, Writable: true})
	b := startHold(t, super, Options{Image: shared.trusted, User: other, Writable: true})
	for _, h := range []*held{a, b} {
		script := fmt.Sprintf("echo %d > /mine; cat /mine", h.user.UID)
		if got, err := h.task(script).CombinedOutput(); err != nil || string(got) != itoa(h.user.UID)+"\n" {
			t.Errorf("%q, %v", got, err)
		}
	}
	// One has no way into the other's.
	a.fields[1] = b.fields[1]
	if out, err := a.task("true").CombinedOutput(); err == nil {
		t.Errorf("user %d joined the container of %d: %s", a.user.UID, b.user.UID, out)
	}
	if a.end() != nil || b.end() != nil {
		t.Errorf("%s%s", a.stderr, b.stderr)
	}
	a.nothingLeft()
	b.nothingLeft()
}

// TestHoldWhoeverDies kills each party without warning, with a task running that
// does not want to end.
func TestHoldWhoeverDies(t *testing.T) {
	fixture(t)
	const stubborn = `trap "" TERM HUP INT; setsid sleep 1000 & echo ready; sleep 1000`
	for _, who := range holders {
		for _, row := range []struct {
			name string
			kill func(h *held, task *exec.Cmd)
			// remains says that the task outlives this death, until the step's end.
			remains bool
		}{
			{"the_step", func(h *held, _ *exec.Cmd) { h.step.Close() }, false},
			{"the_watcher", func(h *held, _ *exec.Cmd) { _ = h.cmd.Process.Kill() }, true},
			{"squashfuse", func(h *held, _ *exec.Cmd) { _ = unix.Kill(fuseOf(t), unix.SIGKILL) }, false},
			{"the_holder", func(h *held, _ *exec.Cmd) { _ = unix.Kill(h.pid(), unix.SIGKILL); h.step.Close() }, false},
			{"the_task", func(h *held, task *exec.Cmd) { _ = task.Process.Kill(); h.step.Close() }, false},
			{"signals_to_all", func(h *held, _ *exec.Cmd) {
				for _, s := range []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP} {
					for _, pid := range []int{h.cmd.Process.Pid, h.pid(), fuseOf(t)} {
						_ = unix.Kill(pid, s)
					}
				}
				if out, err := h.task("cat /opt/file").CombinedOutput(); err != nil {
					t.Errorf("after signals: %v: %s", err, out)
				}
				h.step.Close()
			}, false},
		} {
			t.Run(who.name+"/"+row.name, func(t *testing.T) {
				h := startHold(t, who.starter, Options{Image: shared.plain, User: who.user})
				task := h.task(stubborn)
				out, err := task.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := task.Start(); err != nil {
					t.Fatal(err)
				}
				if n, err := out.Read(make([]byte, 64)); n == 0 {
					t.Fatal(err)
				}
				row.kill(h, task)
				if row.remains {
					_ = h.cmd.Wait()
					if name, err := mountSpace(task.Process.Pid); err != nil || name != h.space {
						t.Fatalf("the task has ended with the watcher: %v", err)
					}
					h.step.Close()
				}
				h.awaitTask(task)
				_ = h.cmd.Wait()
				h.nothingLeft()
				if row.name == "squashfuse" && !strings.Contains(h.stderr.String(), "squashfuse ended too early") {
					t.Errorf("said %q", h.stderr)
				}
			})
		}
	}
}

// awaitTask waits for the end of a task, which somebody else has to bring.
func (h *held) awaitTask(task *exec.Cmd) {
	h.t.Helper()
	late := time.AfterFunc(5*time.Minute, func() { _ = syscall.Kill(-task.Process.Pid, syscall.SIGKILL) })
	_ = task.Wait()
	if !late.Stop() {
		h.t.Errorf("the task did not end: %s", h.stderr)
	}
}

// TestHoldIsGuardedBeforeItsAnswer: whoever reads the answer may start a task at once, so that from then on there is
// somebody who ends it if the holder is killed. A full pipe holds the answer back.
func TestHoldIsGuardedBeforeItsAnswer(t *testing.T) {
	fixture(t)
	before := make([]byte, 64<<10)
	h := launchHold(t, super, Options{Image: shared.plain, User: ordinary}, before)
	for end := time.Now().Add(5 * time.Minute); !h.hasGuard(); pause() {
		if time.Now().After(end) {
			t.Fatal("the answer is given before there is a guard")
		}
	}
	if _, err := io.ReadFull(h.answer, before); err != nil {
		t.Fatal(err)
	}
	h.awaitAnswer()
	if err := h.end(); err != nil {
		t.Errorf("end: %v: %s", err, h.stderr)
	}
	h.nothingLeft()
}

// hasGuard tells whether a child of the holder's has the step's pipe open.
func (h *held) hasGuard() bool {
	pipe, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", h.step.Fd()))
	if err != nil {
		h.t.Fatal(err)
	}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", h.cmd.Process.Pid))
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for _, pid := range strings.Fields(string(data)) {
			links, _ := filepath.Glob("/proc/" + pid + "/fd/*")
			for _, l := range links {
				if to, err := os.Readlink(l); err == nil && to == pipe {
					return true
				}
			}
		}
	}
	return false
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRunIsKilled(t *testing.T) {
	fixture(t)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			cmd := command(t, w.user, helperCall{Options: Options{Image: w.image()},
				Args: []string{"/bin/sh", "-c", `trap "" TERM; setsid sleep 1000 & readlink /proc/self/ns/mnt; sleep 1000`}})
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			text := make([]byte, 64)
			n, err := out.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			nothingLeft(t, strings.TrimSpace(string(text[:n])))
		})
	}
}

func TestHoldRefuses(t *testing.T) {
	fixture(t)
	for _, row := range []struct {
		name string
		o    Options
		want string
	}{
		{"no_image", Options{Image: "/nosuch.sqsh"}, "No such file"},
		{"no_source", Options{Image: shared.trusted, Mounts: []Mount{{Source: "/nosuch", Target: "/x"}}}, "--container-mounts: source path does not exist: /nosuch"},
		{"no_workdir", Options{Image: shared.trusted, Workdir: "/nosuch"}, "couldn't chdir to /nosuch: No such file or directory"},
		{"unknown_name", Options{Name: Name{Name: "nosuch", Flag: NameAuto}}, `a container with name "nosuch" does not exist`},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.o.User, row.o.State = ordinary, stateDir(t)
			h := startHold(t, super, row.o)
			if h.fields[0] != "error" || !strings.Contains(h.fields[1], row.want) {
				t.Errorf("answer %q, want %q", h.fields, row.want)
			}
			if err := h.end(); err == nil {
				t.Error("the holder ended without an error")
			}
			nothingLeft(t, "none")
		})
	}
}

// stateDir is a directory for named containers of all users.
func stateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(shared.dir, "state-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
