package tie

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// hold starts the program and waits for it on a thread of its own: the kernel sends the
// signal when the thread ends that started the program.
func (p Program) hold(started, ended chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if p.Cmd.SysProcAttr == nil {
		p.Cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.Cmd.SysProcAttr.Pdeathsig = p.AtDeath
	err := p.Cmd.Start()
	started <- err
	if err == nil {
		ended <- p.Cmd.Wait()
	}
}

// tell passes a signal on. What has ended meanwhile does not hear it.
func (p Program) tell(s syscall.Signal) {
	pid := p.Cmd.Process.Pid
	all := below(pid)
	if !p.Through || len(all) == 0 {
		all = append(all, pid)
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, s)
	}
}

// below are the processes that a process has started, and those that they have, the
// parents first.
func below(pid int) []int {
	var all []int
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(append(all, child), below(child)...)
			}
		}
	}
	return all
}
