package nodes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/local/machine"
)

// View is what the cluster's machines show of this one.
type View struct {
	Record Record
	// Mounts are the mount points of the host that its machines do not show: a layer
	// over a directory leaves out what is mounted below that.
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
	for _, point := range v.Mounts {
		if within(path, point) {
			return false
		}
	}
	return machine.Shows(path)
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
