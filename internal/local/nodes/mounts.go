package nodes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mounts are the mount points at and below a directory of the run directory as
// this process sees them, in the order in which they were made. None of them is
// the cluster's: its machines have mounts of their own, which the host never sees.
func (l *Layout) Mounts(elem ...string) ([]string, error) {
	dir, err := filepath.EvalSymlinks(l.Path(elem...)) // the kernel's list has no links
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("look for mounts: %w", err)
	}
	return mountsAt(string(data), dir), nil
}

// mountsAt are the mount points of a mountinfo, proc(5), at and below a directory.
func mountsAt(mountinfo, dir string) []string {
	var found []string
	for line := range strings.Lines(mountinfo) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		if point := unescape.Replace(f[4]); point == dir || strings.HasPrefix(point, strings.TrimSuffix(dir, "/")+"/") {
			found = append(found, point)
		}
	}
	return found
}

// unescape is what the kernel writes instead of the characters that its list is
// written with.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#")
