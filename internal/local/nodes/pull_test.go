package nodes_test

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/local/nodes"
)

// startInit starts what looks like a node's init process below this process: the
// first of a process namespace of its own, with a node's mark.
func startInit(t *testing.T, node string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "sleep 600 & wait", "muster-node", node)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Start(); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal(err)
		}
		t.Skipf("needs process namespaces, which cannot be made here: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestPullPlug(t *testing.T) {
	self := nodes.AnchorProcess{PID: os.Getpid()}
	one, other := startInit(t, "n-1"), startInit(t, "n-10")
	for _, name := range []string{"", ".", "..", "head", "../n-2", "/n-2", "n-2/tmp"} {
		startInit(t, name)
	}

	running, err := nodes.Running(self)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, r := range running {
		found[r.Node] = r.ID
	}
	if len(found) != 2 || found["n-1"] != strconv.Itoa(one.Process.Pid) || found["n-10"] != strconv.Itoa(other.Process.Pid) {
		t.Errorf("running are %v, want n-1 with %d and n-10 with %d", found, one.Process.Pid, other.Process.Pid)
	}

	if err := nodes.PullPlug(t.Context(), self, "n-1"); err != nil {
		t.Fatal(err)
	}
	if err := one.Wait(); one.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the node's init ended with %v", err)
	}
	if err := nodes.PullPlug(t.Context(), self, "n-1"); err == nil {
		t.Error("a node that does not run was killed")
	}
	if _, err := nodes.NodePID(self, "n-10"); err != nil {
		t.Errorf("the other node is gone: %v", err)
	}
}
