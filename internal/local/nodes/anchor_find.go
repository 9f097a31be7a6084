package nodes

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// findAnchor looks among the machine's processes for one that is an anchor of the same user's and works in the run directory itself, and not in
// one that has the same path in another root.
func (l *Layout) findAnchor() (AnchorProcess, bool) {
	dir, err := os.Stat(l.Dir)
	if err != nil {
		return AnchorProcess{}, false
	}
	for pid := range processes() {
		proc := "/proc/" + strconv.Itoa(pid)
		line, err := os.ReadFile(proc + "/cmdline")
		if err != nil || !bytes.HasSuffix(line, []byte("\x00agent\x00anchor\x00"+l.Dir+"\x00")) {
			continue
		}
		cwd, err := os.Stat(proc + "/cwd")
		if err != nil || !os.SameFile(cwd, dir) || !belongs(pid, l.UID) {
			continue
		}
		if state, started, err := readStat(pid); err == nil && !over(state) {
			return AnchorProcess{PID: pid, Started: started}, true
		}
	}
	return AnchorProcess{}, false
}

// belongs tells whether a process is a user's. The owner of its folder in /proc may be root instead.
func belongs(pid, uid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 5 && f[0] == "Uid:" {
			return f[1] == strconv.Itoa(uid)
		}
	}
	return false
}
