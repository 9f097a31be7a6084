package nodes

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
		if anchorDir(pid) != l.Dir {
			continue
		}
		its, err := os.Stat("/proc/" + strconv.Itoa(pid) + "/" + link)
		if err != nil || !os.SameFile(its, place) || !belongs(pid, l.UID) {
			continue
		}
		if state, started, err := readStat(pid); err == nil && !over(state) {
			return AnchorProcess{PID: pid, Started: started}, true
		}
	}
	return AnchorProcess{}, false
}

// WithoutDirectory names the clusters of a home that run, as a user's, and whose run directory was deleted or moved.
func WithoutDirectory(home string, uid int) []string {
	var names []string
	for pid := range processes() {
		l := &Layout{Dir: anchorDir(pid), UID: uid}
		name := filepath.Base(l.Dir)
		if l.Dir != filepath.Join(home, name) || slices.Contains(names, name) {
			continue
		}
		if _, err := os.Lstat(l.Dir); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, alive := l.findAnchor(); alive {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// anchorDir is the run directory that a process was started for as an anchor, "" if it was not.
func anchorDir(pid int) string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	_, after, _ := bytes.Cut(line, []byte("\x00agent\x00anchor\x00"))
	dir, ended := bytes.CutSuffix(after, []byte{0})
	if !ended || bytes.IndexByte(dir, 0) >= 0 {
		return ""
	}
	return string(dir)
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
