//go:build linux

package scan

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// systemDirs are where programs are looked for; PATH does not count, as anybody may have set it.
var systemDirs = [...]string{
	"/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin", "/opt/slurm/sbin", "/opt/slurm/bin",
	"/opt/amazon/efa/bin", "/usr/local/cuda/bin", "/usr/local/nvidia/bin", "/opt/muster/bin",
}

// Bounds of a program that is asked.
const (
	programWait  = 10 * time.Second
	programBytes = 4 << 20
	pipeWait     = time.Second
)

var errNoProgram = errors.New("there is no such program")

// find is the path of a program, empty if the machine has none of this name.
func (e eye) find(name string) string { return e.among(systemDirs[:], name) }

func (e eye) among(dirs []string, name string) string {
	for _, dir := range dirs {
		path := e.at(filepath.Join(dir, name))
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// ask runs a program of the machine's to its end and is what it printed. An error has the end of that.
func (e eye) ask(ctx context.Context, name string, args ...string) (string, error) {
	program := e.find(name)
	if program == "" {
		return "", fmt.Errorf("%s: %w", name, errNoProgram)
	}
	return e.run(ctx, program, args...)
}

// run runs a program, without an environment, in a group of its own that ends with it. It is killed when the thread that started it ends:
// that is this one, and stays.
func (e eye) run(ctx context.Context, program string, args ...string) (string, error) {
	wait := cmp.Or(e.wait, programWait)
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("it did not end within %s", wait))
	defer cancel()
	var out, wrong limited
	c := exec.CommandContext(ctx, program, args...)
	c.Env = []string{"PATH=" + strings.Join(systemDirs[:], ":"), "LC_ALL=C"}
	if e.conf != "" {
		c.Env = append(c.Env, "SLURM_CONF="+e.conf)
	}
	c.Dir, c.Stdout, c.Stderr, c.WaitDelay = "/", &out, &wrong, pipeWait
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.Run()
	if err == nil {
		return out.String(), nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return out.String(), fmt.Errorf("run %s: %w%s", filepath.Base(program), err, said(wrong.String(), out.String()))
}

// said is the first line that a program gave for its failure.
func said(texts ...string) string {
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				return ": " + short(line)
			}
		}
	}
	return ""
}

// limited keeps the first bytes of what is written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := programBytes - l.Len(); room > 0 {
		_, _ = l.Buffer.Write(p[:min(len(p), room)]) // a buffer takes all
	}
	return len(p), nil
}

func readAll(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, readLimit))
	return string(data), err
}
