package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A machine that was told to end, and whose end was not noticed yet, has no root any more.
func TestDisksOfADyingMachine(t *testing.T) {
	cmd := exec.Command("/bin/cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }() // reads its end: it was killed
	defer in.Close()
	w := World{machines: map[string]*booted{"i-1": {pid: cmd.Process.Pid}}, disks: map[string][]*disk{}}
	if err := w.Terminate("i-1"); err != nil {
		t.Fatal(err)
	}
	waitEnd(cmd.Process.Pid)
	loop, err := os.Create(filepath.Join(t.TempDir(), "loop"))
	if err != nil {
		t.Fatal(err)
	}
	one := &disk{Disk: Disk{Instance: "i-1", Volume: "vol-1"}, loop: loop, name: "nvme1n1"}
	if err := one.show(cmd.Process.Pid); err != nil {
		t.Errorf("show a dying machine a disk: %v", err)
	}
	w.disks["i-1"] = []*disk{one}
	if err := w.Detach(one.Disk); err != nil {
		t.Errorf("detach a disk from a dying machine: %v", err)
	}
	if len(w.disks["i-1"]) != 0 {
		t.Errorf("it still has %v", w.disks["i-1"])
	}
	// One that lives has what it has, and an error is one.
	if err := inRoot(os.Getpid(), func(root string) error { return os.Remove(filepath.Join(root, "nothing", "here")) }); err == nil {
		t.Error("the root of a machine that lives is taken for gone")
	}
}
