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

// watchScript is a shell's, because there is one for each program, and the smallest process
// is good enough. It must be a process: who was killed does nothing more.
//
//go:embed watch.sh
var watchScript string

// watcher is the process that outlives us, if need be, and ends the program then.
//
// The kernel's own word at a parent's death (PR_SET_PDEATHSIG) reaches the program alone, and
// its children are nobody's before anybody looks; a process namespace of its own would hold
// them, but what a program and its user see of processes would be others.
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

// end tells it that the program has ended, or was never started. One that somebody has
// killed meanwhile is no reason to fail: nothing needs it any more.
func (w *watcher) end() {
	_, _ = io.WriteString(w.in, "\n\n")
	_ = w.in.Close()
	_ = w.cmd.Wait()
}
