package tie

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// hold starts the program, watched over, and waits for it.
func (p Program) hold(started, ended chan<- error) {
	w, err := p.watch()
	if err != nil {
		started <- err
		return
	}
	if err = p.Cmd.Start(); err != nil {
		w.end()
		started <- err
		return
	}
	w.over(p.Cmd.Process)
	started <- nil
	err = p.Cmd.Wait()
	w.end()
	ended <- err
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
