// Package moto starts servers of moto, each a process that forgets everything when it ends.
//
// A server is a copy of a process that has loaded moto, which takes seconds of a CPU, and serves nobody: a template. Who runs tests of many
// packages makes one for all of them; else each process that wants a server makes its own.
package moto

import (
	"cmp"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Variable is the environment variable with the address of a template that others have made.
const Variable = "MUSTER_MOTO"

// Template is a process of which servers are copies. It starts with the first connection, and serves nobody but the user that it runs as.
type Template struct {
	listener *net.UnixListener
	socket   *os.File // the listener's
	served   sync.WaitGroup

	mu      sync.Mutex // guards what follows
	process *os.Process
	closed  bool
}

// server is the program that a template runs.
//
//go:embed server.py
var server string

// NewTemplate makes a template. It ends with this process. Clients find it at a path, which clients in networks of their own need; where that
// is empty, at an abstract address, which leaves no file behind.
func NewTemplate(path string) (*Template, error) {
	program, err := Python()
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: cmp.Or(path, "@muster-moto-"+rand.Text())})
	if err != nil {
		return nil, fmt.Errorf("listen for who wants a server of moto: %w", err)
	}
	t := &Template{listener: l}
	if t.socket, err = l.File(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	t.served.Go(func() { t.run(program) })
	return t, nil
}

// Address is where clients find it, for Variable.
func (t *Template) Address() string { return t.listener.Addr().String() }

// Close ends the process. Servers end with their clients.
func (t *Template) Close() {
	t.mu.Lock()
	t.closed = true
	if t.process != nil {
		_ = t.process.Kill() // it may have ended already
	}
	t.mu.Unlock()
	_ = t.socket.Close() // it may be closed already
	t.served.Wait()
}

// run waits for the first connection and then for the process. It is the process's parent, and stays on one thread of the system, because
// the process is killed when that thread ends. When the process has ended, connections are refused.
func (t *Template) run(program string) {
	defer t.socket.Close()
	defer t.listener.Close()
	if !wanted(t.socket) {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(program, "-")
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles, cmd.Dir = strings.NewReader(server), os.Stderr, []*os.File{t.socket}, os.TempDir()
	cmd.Env = append(withoutAWS(os.Environ()),
		"PYTHONWARNINGS=ignore", "PYTHONUNBUFFERED=1", "HOME=/nonexistent",
		"MOTO_IAM_LOAD_MANAGED_POLICIES=true", "MOTO_ENABLE_AMI_VALIDATION=true", "MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION=true", "MOTO_ENABLE_KEYPAIR_VALIDATION=true",
		// Its own calls of AWS, if it makes any, go nowhere.
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	err := cmd.Start()
	t.process = cmd.Process
	t.mu.Unlock()
	if err == nil {
		err = cmd.Wait()
	}
	if t.mu.Lock(); !t.closed {
		fmt.Fprintf(os.Stderr, "moto ended: %v\n", err)
	}
	t.mu.Unlock()
}

// wanted waits until somebody connects, and leaves the connection to the process. It is false if the socket is closed instead.
func wanted(socket *os.File) bool {
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	})
	return err == nil
}

// Python is the Python that has moto: that of the environment in $MUSTER_PYTHON, or of the repository's bin/py, where `make python` puts it.
func Python() (string, error) {
	var places []string
	if python := os.Getenv("MUSTER_PYTHON"); python != "" {
		places = append(places, filepath.Join(python, "bin"))
	}
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, e := os.Stat(filepath.Join(dir, "go.mod")); e == nil {
			places = append(places, filepath.Join(dir, "bin", "py", "bin"))
		}
		dir = filepath.Dir(dir)
	}
	for _, p := range places {
		if info, err := os.Stat(filepath.Join(p, "moto_server")); err == nil && info.Mode().IsRegular() {
			return filepath.Join(p, "python3"), nil
		}
	}
	return "", errors.New("there is no moto_server: make python, or MUSTER_PYTHON=DIR with DIR/bin/moto_server")
}

func withoutAWS(env []string) []string {
	var kept []string
	for _, e := range env {
		if !strings.HasPrefix(e, "AWS_") && !strings.HasPrefix(e, "MOTO_") && !strings.HasPrefix(e, "HOME=") {
			kept = append(kept, e)
		}
	}
	return kept
}
