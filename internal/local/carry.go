package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
)

// Sight is what the cluster's machines see at a path of this one.
type Sight int

// A path is Hidden from them, or Seen as the same as here, or Absent: it does not exist
// here either.
const (
	Hidden Sight = iota
	Seen
	Absent
)

// pathLists are the variables that activate something by a list of paths.
var pathLists = []string{"PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "MODULEPATH"}

// pathNames are the variables that activate something by one path.
var pathNames = []string{"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME"}

// Variables of environment modules: the files of the loaded modules, and their names in
// the same order. Each is useless without the other.
const (
	moduleFiles = "_LMFILES_"
	moduleNames = "LOADEDMODULES"
)

// systemPath is where Debian's programs are.
var systemPath = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// Carried is the environment of a user's program on the cluster's machines.
type Carried struct {
	// Env is for what leads into the machine, and for the program.
	Env []string
	// Late is for the program alone: it changes what others load, and those run before
	// the change to its user.
	Late []string
	// LeftOut is what the machines do not see.
	LeftOut []LeftOut
}

// LeftOut is a path and the variable that it was in.
type LeftOut struct{ Variable, Path string }

// activePaths are the paths that an environment has activated.
func activePaths(environ []string) []string {
	var paths []string
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case slices.Contains(pathLists, name) || name == moduleFiles:
			paths = append(paths, strings.Split(value, ":")...)
		case slices.Contains(pathNames, name):
			paths = append(paths, value)
		}
	}
	return paths
}

// carry takes an environment to the cluster's machines: all of it but for what belongs
// to this machine or to another cluster, and of what it has activated whatever the
// machines see. Their own programs come first in PATH. A path that sight does not know
// is hidden.
func carry(environ []string, sight map[string]Sight) Carried {
	var c Carried
	active := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case activates(name):
			active[name] = value
		case !staysBehind(name):
			c.set(name, value)
		}
	}
	for _, name := range pathLists {
		kept := c.list(name, active[name], sight)
		if name == "PATH" {
			kept = searched(kept)
		}
		if len(kept) > 0 {
			c.set(name, strings.Join(kept, ":"))
		}
	}
	for _, name := range pathNames {
		if value := active[name]; value != "" && c.keeps(name, value, sight) {
			c.set(name, value)
		}
	}
	if files := active[moduleFiles]; files != "" && len(c.list(moduleFiles, files, sight)) == len(split(files)) {
		c.set(moduleFiles, files)
		c.set(moduleNames, active[moduleNames])
	}
	c.Env = append(c.Env, ownVariables()...)
	return c
}

// activates tells whether a variable says what the user has activated.
func activates(name string) bool {
	return slices.Contains(pathLists, name) || slices.Contains(pathNames, name) || name == moduleFiles || name == moduleNames
}

func (c *Carried) set(name, value string) {
	if strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "PYTHON") {
		c.Late = append(c.Late, name+"="+value)
		return
	}
	c.Env = append(c.Env, name+"="+value)
}

// list is what the machines see of a list of paths.
func (c *Carried) list(name, value string, sight map[string]Sight) []string {
	return slices.DeleteFunc(split(value), func(path string) bool { return !c.keeps(name, path, sight) })
}

// split is a list of paths without the empty ones. They mean the working directory, but
// usually come from a colon too many.
func split(value string) []string {
	return slices.DeleteFunc(strings.Split(value, ":"), func(path string) bool { return path == "" })
}

// keeps tells whether the machines see a path, and notes what they do not.
func (c *Carried) keeps(name, path string, sight map[string]Sight) bool {
	switch sight[path] {
	case Seen:
		return true
	case Hidden:
		if out := (LeftOut{name, path}); !slices.Contains(c.LeftOut, out) {
			c.LeftOut = append(c.LeftOut, out)
		}
	}
	return false
}

// searched is where programs are looked for: muster's own first, and the system's in
// any case.
func searched(kept []string) []string {
	path := []string{services.BinDir}
	for _, d := range slices.Concat(kept, systemPath) {
		if !slices.Contains(path, d) {
			path = append(path, d)
		}
	}
	return path
}

// behind says what stays behind and why, in one line; empty is nothing.
func (c Carried) behind() string {
	if len(c.LeftOut) == 0 {
		return ""
	}
	var names []string
	paths := map[string][]string{}
	for _, out := range c.LeftOut {
		if !slices.Contains(names, out.Variable) {
			names = append(names, out.Variable)
		}
		paths[out.Variable] = append(paths[out.Variable], out.Path)
	}
	for i, name := range names {
		names[i] = name + " " + strings.Join(paths[name], ", ")
	}
	return "not carried over: " + strings.Join(names, "; ") +
		" (nodes see the working directory, the cluster's file systems and this machine's system, not its /home and /tmp)"
}

// lookAt looks where the paths that an environment has activated are for the machines
// of a cluster. Through a link they see what they see at its end.
func lookAt(environ []string, v nodes.View) map[string]Sight {
	sight := map[string]Sight{}
	for _, path := range activePaths(environ) {
		if !v.Shows(path) {
			sight[path] = hidden(path)
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && !v.Shows(real) {
			sight[path] = Hidden
			continue
		}
		sight[path] = Seen
	}
	return sight
}

// hidden is the sight of a path that the machines do not show.
func hidden(path string) Sight {
	if _, err := os.Stat(path); err != nil {
		return Absent
	}
	return Hidden
}

// SystemPath is the PATH on the cluster's machines, unless a user sets another.
func SystemPath() []string { return searched(nil) }
