package tie

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// watchScript is a shell's, because there is one for each program, and a shell is a small
// process. It must be a process of its own: a caller that was killed can do nothing.
//
//go:embed watch.sh
var watchScript string

// watcher is the process that outlives us, if need be, and ends the program then.
//
// The kernel's signal at a parent's death (PR_SET_PDEATHSIG) reaches the program alone, and
// its children could no longer be found. A process namespace would end them, too, but the
// program and its user would see other processes in it.
type watcher struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// watch starts one.
func (p Program) watch() (*watcher, error) {
	through := ""
	if p.Through {
		through = "through"
	}
	tenths := int(gentle / (100 * time.Millisecond))
	cmd := exec.Command("/bin/sh", "-c", watchScript, "muster-tie", strconv.Itoa(int(p.AtDeath)), through, strconv.Itoa(tenths), strconv.Itoa(os.Getpid()), strconv.Itoa(syscall.Getpgrp()))
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what the terminal tells us is not for it
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("watch over %s: %w", p.Cmd.Path, err)
	}
	return &watcher{cmd, in}, nil
}

// over watches over a program that has started.
func (w *watcher) over(p *os.Process) { _, _ = fmt.Fprintln(w.in, p.Pid) }

// end tells it that the program has ended, or was never started. Errors are ignored: a
// watcher that was killed is not needed any more.
func (w *watcher) end() {
	_, _ = io.WriteString(w.in, "\n\n")
	_ = w.in.Close()
	_ = w.cmd.Wait()
}
