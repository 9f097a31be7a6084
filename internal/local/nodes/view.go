package nodes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/local/machine"
)

// View is what the cluster's machines show of this one.
type View struct {
	Record Record
	// Mounts are the mount points of the host that its machines do not show: an overlay
	// over a directory leaves out the mounts below it.
	Mounts []string
}

// View looks at what the machines of a cluster with this record show.
func (l *Layout) View(r Record) (View, error) {
	v := View{Record: r}
	if l.Rootless {
		return v, nil // where something is mounted below a directory, it is shown part by part
	}
	data, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return v, fmt.Errorf("look for mounts: %w", err)
	}
	for _, point := range mountsAt(string(data), "/") {
		if strings.Count(point, "/") > 1 {
			v.Mounts = append(v.Mounts, point)
		}
	}
	return v, nil
}

// Shows tells whether a path is the same on the machines as here, as far as its name
// goes: links are the caller's business.
func (v View) Shows(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	path = filepath.Clean(path)
	if over, ok := v.Record.over(path); ok {
		return over.Source == over.Target
	}
	return !v.mounted(path) && machine.Shows(path)
}

// mounted tells whether a path lies on a mount of the host that the machines do not show.
func (v View) mounted(path string) bool {
	return slices.ContainsFunc(v.Mounts, func(point string) bool { return within(path, point) })
}

// over is the mount of the cluster's that a path lies on, the last one where there are
// several.
func (r Record) over(path string) (Mount, bool) {
	var over Mount
	for _, m := range r.Shared {
		if within(path, m.Target) && len(m.Target) >= len(over.Target) {
			over = m
		}
	}
	for _, d := range r.ScratchDirs {
		if within(path, d) && len(d) > len(over.Target) {
			over = Mount{Target: d}
		}
	}
	return over, over.Target != ""
}

// within tells whether a path is a directory or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

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
