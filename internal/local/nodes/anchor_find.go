package nodes

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// findAnchor looks among the machine's processes for one that is an anchor of the same user's and works in the run directory itself, and not in
// one that has the same path in another root. Where the directory was deleted or moved, it is one that was started for it in this root.
func (l *Layout) findAnchor() (AnchorProcess, bool) {
	at, link := l.Dir, "cwd"
	if _, err := os.Lstat(l.Dir); errors.Is(err, fs.ErrNotExist) {
		at, link = "/", "root"
	}
	place, err := os.Stat(at)
	if err != nil {
		return AnchorProcess{}, false
	}
	for pid := range processes() {
		proc := "/proc/" + strconv.Itoa(pid)
		line, err := os.ReadFile(proc + "/cmdline")
		if err != nil || !bytes.HasSuffix(line, []byte("\x00agent\x00anchor\x00"+l.Dir+"\x00")) {
			continue
		}
		its, err := os.Stat(proc + "/" + link)
		if err != nil || !os.SameFile(its, place) || !belongs(pid, l.UID) {
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
