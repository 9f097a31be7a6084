package machine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideMark is set in the environment of the process that Enter starts.
const insideMark = "MUSTER_CLOUD_WORLD"

// Inside tells whether this process is one that Enter started.
func Inside() bool { return os.Getenv(insideMark) != "" }

// Enter starts this program again, with these arguments, as the first process of
// new namespaces. It ends when its parent does. The listener, made here, is its
// descriptor 3: it goes on listening in the network of the caller.
func Enter(l *net.TCPListener, stdout, stderr io.Writer, args ...string) (*exec.Cmd, error) {
	file, err := l.File()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	cmd.ExtraFiles = []*os.File{file}
	cmd.Env = append(os.Environ(), insideMark+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig:  unix.SIGKILL,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("make namespaces: %w", err)
	}
	return cmd, nil
}

// Arrive sets up the namespaces that Enter made, and returns the caller's listener.
func Arrive() (net.Listener, error) {
	if os.Getpid() != 1 {
		return nil, errors.New("not the first process of a namespace")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("detach mounts: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return nil, fmt.Errorf("mount /proc: %w", err)
	}
	file := os.NewFile(3, "listener")
	defer file.Close()
	return net.FileListener(file)
}
