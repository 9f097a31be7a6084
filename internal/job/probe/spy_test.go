package probe_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/probe"
)

// nobody is a user who is not root, and under whom nothing else runs.
const nobody = 54321

// looks is the job that a test binary looks at which was started for that.
const looks = "PROBE_TEST_LOOKS_AT"

// TestLooksForAnother looks in a process of its own, for the tests below.
func TestLooksForAnother(t *testing.T) {
	job, err := strconv.Atoi(os.Getenv(looks))
	if err != nil {
		return
	}
	r, err := probe.Look(t.Context(), "/proc", job)
	if err == nil {
		err = r.Write(os.Stdout)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// asUser has a command run as somebody who is not root.
func asUser(cmd *exec.Cmd) *exec.Cmd {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	cmd.Dir = "/"
	return cmd
}

// asRoot has a command run as root, if only that of a namespace.
func asRoot(cmd *exec.Cmd) *exec.Cmd {
	if me := os.Getuid(); me != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: []syscall.SysProcIDMap{{HostID: me, Size: 1}}}
	}
	return cmd
}

// programs is a directory that all can read, with py-spy of $MUSTER_PYTHON or of bin/py, where `make python` puts it, and this
// test.
func programs(t *testing.T) string {
	t.Helper()
	python := os.Getenv("MUSTER_PYTHON")
	if python == "" {
		python = filepath.Join("..", "..", "..", "bin", "py")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "probe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"py-spy": filepath.Join(python, "bin", "py-spy"), "probe.test": self} {
		data, err := os.ReadFile(from)
		if err != nil && os.Getenv("MUSTER_CI") == "" {
			t.Skipf("needs py-spy, which `make python` installs: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// waits stands still in C, as one that waits for a collective operation does, and computes nothing; evaluates goes from place to
// place. Each has a thread that only sleeps.
const waits = `import sys, threading, time
threading.Thread(target=lambda: time.sleep(1000), daemon=True).start()
def collective(lock):
    lock.acquire()
    lock.acquire()
def evaluate():
    total = 0
    while True:
        for n in range(1000):
            total += n
        total = sum([n * n for n in range(1000)])
if sys.argv[1] == "waits":
    collective(threading.Lock())
evaluate()
`

// A real py-spy tells where a rank stands that stands still, and that one that computes is at no one place.
func TestLook_withPySpy(t *testing.T) {
	dir := programs(t)
	script := filepath.Join(dir, "train.py")
	if err := os.WriteFile(script, []byte(waits), 0o644); err != nil {
		t.Fatal(err)
	}
	const job = 990100
	for rank, does := range []string{"waits", "evaluates"} {
		cmd := asUser(exec.Command("/usr/bin/python3", script, does))
		cmd.Env = []string{"SLURM_JOB_ID=" + strconv.Itoa(job), "RANK=" + strconv.Itoa(rank), "PATH=" + dir, "NCCL_RAS_ENABLE=0"}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	for deadline := time.Now().Add(5 * time.Minute); ; {
		found := ranksSeen(t, asUser, dir, job)
		stood, moved := found["0"], found["1"]
		begun := strings.Contains(stood.Stack, "collective (train.py:5)") && strings.Contains(moved.Stack, "evaluate (train.py:") && !stood.Busy
		if (!begun || stood.Place == "") && time.Now().Before(deadline) {
			continue // or too few samples could be taken
		}
		if !strings.HasPrefix(stood.Place, "collective (train.py:5); <module> (train.py:") || moved.Place != "" || !moved.Busy {
			t.Errorf("got %+v and %+v", stood, moved)
		}
		if stood.Part != probe.Leader || stood.IOBytes < 0 || moved.CPUSeconds <= 0 || stood.Start == 0 {
			t.Errorf("got %+v and %+v", stood, moved)
		}
		return
	}
}

// ranksSeen are what the probe sees as somebody, by rank.
func ranksSeen(t *testing.T, as func(*exec.Cmd) *exec.Cmd, dir string, job int) map[string]probe.Process {
	t.Helper()
	cmd := as(exec.CommandContext(t.Context(), filepath.Join(dir, "probe.test"), "-test.run=^TestLooksForAnother$"))
	cmd.Env = []string{looks + "=" + strconv.Itoa(job), "PATH=/usr/bin:/bin"}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, said.String())
	}
	reports := probe.Read(append([]byte("0: "), out...))
	if len(reports) != 1 {
		t.Fatalf("got %q", out)
	}
	found := map[string]probe.Process{}
	for _, p := range reports[0].Processes {
		found[p.Rank] = p
	}
	return found
}

// Root runs no program of a user's, and believes nobody else of which job he is.
func TestLook_asRoot(t *testing.T) {
	dir := programs(t)
	if err := os.WriteFile(filepath.Join(dir, "py-spy"), []byte("#!/bin/sh\ntouch "+dir+"/ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const job = 990101
	begin := func(rank string, as func(*exec.Cmd) *exec.Cmd) {
		cmd := as(exec.Command("/usr/bin/python3", "-c", "import time; time.sleep(100)"))
		cmd.Env = []string{"SLURM_JOB_ID=" + strconv.Itoa(job), "RANK=" + rank, "PATH=" + dir, "NCCL_RAS_ENABLE=0"}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	begin("0", func(cmd *exec.Cmd) *exec.Cmd { return cmd })
	if os.Getuid() == 0 {
		begin("1", asUser)
	}
	found := ranksSeen(t, asRoot, dir, job)
	if len(found) != 1 || !strings.HasPrefix(found["0"].Blind, "py-spy is not run as root") {
		t.Errorf("got %+v", found)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a user's program ran as root")
	}
}
