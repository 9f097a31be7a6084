package tie

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
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
	var stopped []int
	all := below(pid, func(pid int) {
		if ends(s) && stop(pid) {
			stopped = append(stopped, pid)
		}
	})
	if !p.Through || len(all) == 0 {
		all = append(all, pid)
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, s)
	}
	// Children first: nsenter stops itself when it goes on and sees that its child is stopped.
	for _, pid := range slices.Backward(stopped) {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

// ends says that a signal ends most programs: a child that one of them starts at that moment would be nobody's, and go on.
func ends(s syscall.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGHUP || s == syscall.SIGQUIT || s == syscall.SIGKILL
}

// stopWait is how long a process may take to stop: one that waits for a disk does not for long.
const stopWait = time.Second

// stop holds a process, so that it starts no other, and tells whether it was running.
func stop(pid int) bool {
	if state(pid) == "T" || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return false
	}
	for end := time.Now().Add(stopWait); time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
		if s := state(pid); s == "T" || s == "Z" || s == "" {
			break
		}
	}
	return true
}

// state is the letter of a process's state, proc(5); it is empty if there is no such process.
func state(pid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	i := strings.LastIndexByte(string(text), ')') // the name before it may have anything in it
	if fields := strings.Fields(string(text[i+1:])); len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// below are the processes that a process has started, and those that they have, the
// parents first. Each of them is visited before its own are looked for.
func below(pid int, visit func(pid int)) []int {
	var all []int
	visit(pid)
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(append(all, child), below(child, visit)...)
			}
		}
	}
	return all
}
