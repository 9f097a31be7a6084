package container

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// hook is a directory with a user's own configuration of Enroot's, which we do not read.
type hook struct {
	dir, instead string
	found        ref
}

// enrootHooks adds the looks for them.
func (m *maker) enrootHooks(p *program) []hook {
	outer := readEnviron(m.o.Environ)
	dir := outer["ENROOT_CONFIG_PATH"]
	if home := outer["HOME"]; dir == "" && filepath.IsAbs(home) {
		dir = filepath.Join(home, ".config", "enroot")
	}
	if !filepath.IsAbs(dir) {
		return nil
	}
	all := []hook{
		{dir: dir + "/hooks.d", instead: "no program of yours runs before a container starts"},
		{dir: dir + "/mounts.d", instead: "say with --mounts what to show"},
		{dir: dir + "/environ.d", instead: "set the variables outside, and keep them with --env"},
	}
	for i := range all {
		all[i].found = p.allow(p.open(all[i].dir, unix.O_PATH|unix.O_DIRECTORY))
		p.close(all[i].found)
	}
	return all
}

// tellOfHooks says that what was found has no effect.
func (m *maker) tellOfHooks(all []hook, results []result) {
	for _, h := range all {
		if at(results, h.found).errno == 0 {
			m.notice(h.dir + " has no effect, it is Enroot's: " + h.instead)
		}
	}
}
