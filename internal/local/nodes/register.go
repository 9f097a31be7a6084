package nodes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Register has slurmd of every node that runs register with slurmctld. It does so when it reads its configuration again, as
// SIGHUP asks it to; its jobs do not notice. `scontrol reconfigure` would since Slurm 23.11 replace slurmctld as well, and a new
// slurmctld takes all that it read of jobs for news (time_last_active), so that it would never miss one. It must be called in the
// anchor's namespaces.
func Register(context.Context) error {
	inits, err := nodeInits(ownAnchor)
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range inits {
		if err := i.registerSlurmd(); err != nil {
			errs = append(errs, fmt.Errorf("have %s register: %w", i.name, err))
		}
	}
	return errors.Join(errs...)
}

// registerSlurmd has a node's slurmd register. One that is starting does so by itself.
func (i nodeInit) registerSlurmd() error {
	pids, err := childrenOf(i.pid)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return err
		}
		if parentOf(pid) == i.pid && heedsHangup(pid) { // only now does the number surely mean that process
			err = unix.PidfdSendSignal(fd, unix.SIGHUP, nil, 0)
		}
		unix.Close(fd)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// childrenOf are a process's children; none if it has ended.
func childrenOf(pid int) ([]int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, word := range strings.Fields(string(data)) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// heedsHangup tells whether a process is slurmd and has a handler for SIGHUP, which ends those that have none. Once it has
// read its configuration again, slurmd of Debian 13 is called slurmd-wlm.
func heedsHangup(pid int) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	name, err := os.ReadFile(proc + "/comm")
	if err != nil || string(name) != "slurmd\n" && string(name) != "slurmd-wlm\n" {
		return false
	}
	caught, err := statusField(proc, "SigCgt")
	if err != nil || len(caught) != 1 {
		return false
	}
	signals, err := strconv.ParseUint(caught[0], 16, 64)
	return err == nil && signals&(1<<(unix.SIGHUP-1)) != 0
}
