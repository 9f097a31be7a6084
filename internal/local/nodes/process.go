package nodes

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// startTime reads a process's start time in clock ticks since boot (field 22 of
// /proc/PID/stat, proc(5)).
func startTime(pid int) (uint64, error) {
	_, started, err := readStat(pid)
	return started, err
}

// readStat reads a process's state, such as "S", and its start time.
func readStat(pid int) (state string, started uint64, err error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0, err
	}
	// The program's name, in brackets, may hold anything.
	_, rest, ok := bytes.Cut(data[max(0, bytes.LastIndexByte(data, ')')):], []byte(" "))
	fields := strings.Fields(string(rest))
	if !ok || len(fields) < 20 {
		return "", 0, fmt.Errorf("read start time of process %d: short line", pid)
	}
	started, err = strconv.ParseUint(fields[19], 10, 64)
	return fields[0], started, err
}

// dead tells whether a process has ended and at most its entry is left, which stays
// for as long as its parent takes no note.
func dead(pid int) bool {
	state, _, err := readStat(pid)
	return err != nil || over(state)
}

// over tells whether a state is that of a process that has ended.
func over(state string) bool { return state == "Z" || state == "X" }

// Hung is a machine whose first process was stopped by a signal: until that goes on, it
// starts, ends and reaps nothing.
type Hung struct {
	Node string // "" is the head node
	PID  int    // of the process, as the caller sees it
}

// Hanging are the machines of an anchor that hang. They are not ended: the signal may
// have been sent on purpose.
func Hanging(a AnchorProcess) ([]Hung, error) {
	inits, err := nodeInits(a.PID)
	if err != nil {
		return nil, err
	}
	var all []Hung
	if halted(a.PID) {
		all = append(all, Hung{PID: a.PID})
	}
	for _, i := range inits {
		if halted(i.pid) {
			all = append(all, Hung{i.name, i.pid})
		}
	}
	return all, nil
}

// halted tells whether a process was stopped by a signal.
func halted(pid int) bool {
	state, _, err := readStat(pid)
	return err == nil && state == "T"
}
