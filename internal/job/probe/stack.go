package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// stackWait is how long one stack may take, stacksWait all of them, stackBytes how much of one is kept.
	stackWait  = 5 * time.Second
	stacksWait = 15 * time.Second
	stackBytes = 32 << 10
	// stacksAtOnce is how many are read at once, on the one CPU that the step has.
	stacksAtOnce = 4
)

// stacks are where processes are: of ranks first, as there may be no time for all.
func stacks(ctx context.Context, proc string, all []seen, into func(pid int, text, blind string)) {
	ctx, cancel := context.WithTimeoutCause(ctx, stacksWait, errors.New("there was no time left"))
	defer cancel()
	var reading sync.WaitGroup
	var writing sync.Mutex // guards what into writes to
	free := make(chan struct{}, stacksAtOnce)
	for _, part := range []Part{Leader, Helper, ""} {
		for _, s := range all {
			if s.part != part {
				continue
			}
			free <- struct{}{}
			reading.Go(func() {
				text, blind := stack(ctx, proc, s)
				writing.Lock()
				into(s.pid, text, blind)
				writing.Unlock()
				<-free
			})
		}
	}
	reading.Wait()
}

// stack is where a process is: py-spy's words for one of Python's, else the kernel's, which
// root alone may read.
func stack(ctx context.Context, proc string, s seen) (text, blind string) {
	if !s.python {
		return strings.TrimSpace(read(proc, s.pid, "stack")), ""
	}
	ctx, cancel := context.WithTimeout(ctx, stackWait)
	defer cancel()
	out, err := spy(ctx, proc, s, "dump", "--nonblocking")
	if errors.Is(err, errNoSpy) {
		text = strings.TrimSpace(read(proc, s.pid, "stack"))
	}
	if err != nil {
		return text, err.Error()
	}
	return strings.ToValidUTF8(string(out[:min(len(out), stackBytes)]), "?"), ""
}

// errNoSpy says that there is no py-spy, or none that may be run.
var errNoSpy = errors.New("py-spy")

// spy runs py-spy on a process. Never as root: the program is its user's.
func spy(ctx context.Context, proc string, s seen, words ...string) ([]byte, error) {
	if os.Geteuid() == 0 {
		return nil, fmt.Errorf("%w is not run as root", errNoSpy)
	}
	program := pySpy(proc, s)
	if program == "" {
		return nil, fmt.Errorf("%w is not installed beside its Python: `pip install py-spy` lets its stack be seen", errNoSpy)
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, fmt.Errorf("%w: %w", errNoSpy, cause)
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, append(words, "--pid", strconv.Itoa(s.pid))...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &bounded{&out, spyBytes}, &bounded{&said, 500}, time.Second
	if err := cmd.Run(); err != nil {
		why := fmt.Sprintf("py-spy: %v: %s", err, strings.TrimSpace(said.String()))
		if scope, _ := os.ReadFile(filepath.Join(proc, "sys/kernel/yama/ptrace_scope")); len(scope) > 0 && scope[0] != '0' {
			why += fmt.Sprintf("; kernel.yama.ptrace_scope is %c here, and only with 0 may it look at processes that others began", scope[0])
		}
		return nil, errors.New(strings.ToValidUTF8(why, "?"))
	}
	return out.Bytes(), nil
}

// spyBytes is how much of what py-spy says is read.
const spyBytes = 1 << 20

// bounded keeps the beginning of what is written.
type bounded struct {
	to   io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	if _, err := b.to.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// pySpy finds py-spy: in the process's Python environment, which may be in a container, or on its PATH.
func pySpy(proc string, s seen) string {
	link := func(name string) string {
		to, _ := os.Readlink(filepath.Join(proc, strconv.Itoa(s.pid), name)) // else there is no such directory
		return to
	}
	dirs := []string{filepath.Dir(link("exe"))}
	if first, _, _ := strings.Cut(s.command, " "); strings.Contains(first, "/") {
		if !filepath.IsAbs(first) {
			first = filepath.Join(link("cwd"), first)
		}
		dirs = append(dirs, filepath.Dir(first)) // a virtual environment's python is a link to another
	}
	for _, home := range []string{s.venv, s.conda} {
		if home != "" {
			dirs = append(dirs, filepath.Join(home, "bin"))
		}
	}
	root := filepath.Join(proc, strconv.Itoa(s.pid), "root")
	for _, dir := range append(dirs, filepath.SplitList(s.path)...) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, at := range []string{filepath.Join(root, dir, "py-spy"), filepath.Join(dir, "py-spy")} {
			if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return at
			}
		}
	}
	return ""
}
