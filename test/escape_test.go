package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// escapeVar makes this test's binary a job that tries to leave its node.
const escapeVar = "MUSTER_TEST_ESCAPE"

// TestEscape is that job.
func TestEscape(t *testing.T) {
	if os.Getenv(escapeVar) == "" {
		return // it is for a node: staysOnItsNode runs it there
	}
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/home", 0)
	if err != nil {
		t.Fatal(err)
	}
	home, err := unix.Open("/home", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.OpenByHandleAt(home, handle, unix.O_RDONLY); err != unix.EPERM {
		t.Errorf("a file of the host was opened by its handle: %v", err)
	}
	at := t.TempDir()
	for _, file := range []string{"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"} {
		if f, err := os.OpenFile(file, os.O_WRONLY, 0); err == nil {
			f.Close()
			t.Errorf("%s can be written", file)
		}
	}
	if fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); err != unix.EPERM {
		unix.Close(fd)
		t.Errorf("it listens to the wire: %v", err)
	}
	if err := unix.Mknod(filepath.Join(at, "disk"), unix.S_IFBLK, 0x801); err != unix.EPERM {
		t.Errorf("a disk was made: %v", err)
	}
}

// staysOnItsNode: a job of root's has none of the rights that lead out of a node.
func staysOnItsNode(t *testing.T, c *cluster) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	job := filepath.Join(c.dir, "job")
	if err := os.WriteFile(job, self, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, where := range [][]string{{"exec", "--", "srun", "--nodelist=gpu-dy-p5e-1"}, {"exec", "--node", "gpu-dy-p5e-1", "--"}} {
		r := c.run(append(where, "env", escapeVar+"=1", job, "-test.run=^TestEscape$", "-test.v")...)
		if r.code != 0 || !strings.Contains(r.stdout, "--- PASS: TestEscape") {
			t.Errorf("%v: exit code %d\n%s%s", where, r.code, r.stdout, r.stderr)
		}
	}
}
