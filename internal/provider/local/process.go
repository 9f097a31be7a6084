package local

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
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	// The program's name, in brackets, may hold anything.
	_, rest, ok := bytes.Cut(data[max(0, bytes.LastIndexByte(data, ')')):], []byte(" "))
	fields := strings.Fields(string(rest))
	if !ok || len(fields) < 20 {
		return 0, fmt.Errorf("read start time of process %d: short line", pid)
	}
	return strconv.ParseUint(fields[19], 10, 64)
}
