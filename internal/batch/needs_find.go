package batch

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// builtins are the commands of shells that are no programs.
var builtins = []string{
	".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen", "complete", "compopt", "continue", "declare",
	"dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill",
	"let", "local", "logout", "mapfile", "ml", "module", "popd", "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift",
	"shopt", "source", "suspend", "test", "time", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
}

var programName = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)

// programNeed is the program of a command, and the program that mpirun and its like start.
func (s *script) programNeed(c *command, h handling) []need {
	if _, inside := s.mounts(c.context); inside || len(c.words) == 0 || c.under("which", "type", "hash", "ssh", "pdsh", "clush") || c.under(environments...) {
		return nil
	}
	if c.outer != nil && c.outer.name == "command" && asks(c.outer.args()) {
		return nil
	}
	all := s.need(c.words[0], c, h)
	if i := c.payload(); i > 0 {
		all = append(all, s.need(c.words[i], c, h)...)
	}
	return all
}

// moduleNeed is the function of environment modules, where nothing that may define it comes
// before. A login shell reads profiles that only its user knows.
func (s *script) moduleNeed(c *command, h handling) []need {
	first, _, _ := strings.Cut(string(s.file.data), "\n")
	_, argument := interpreterOf(first)
	_, inside := s.mounts(c.context)
	switch {
	case c.name != "module" && c.name != "ml", c.outer != nil && !slices.Contains(shells, c.outer.name) && c.outer.name != "srun":
		return nil
	case inside, h.loaded < c.index, h.sourced < c.index, h.known[c.name], h.asked[c.name], s.defines(c.name), strings.Contains(argument, "l"):
		return nil
	}
	return []need{{Thing: Thing{What: Function, Name: c.name}, Place: c.Place}}
}

// need is a word as a program.
func (s *script) need(w word, c *command, h handling) []need {
	t := Thing{What: Program, Name: w.text}
	switch {
	case w.assumed || h.asked[w.text]:
		return nil
	case !w.whole():
		known, _, _ := strings.Cut(w.text, string(hole))
		t = Thing{What: Folder, Name: path.Dir(known + "x")}
		if strings.Count(t.Name, "/") < 2 || h.makes(t.Name) {
			return nil
		}
	case strings.HasPrefix(w.text, "/"):
		t.Name = path.Clean(w.text)
	case strings.Contains(w.text, "/"):
		if h.moved < c.index {
			return nil
		}
		t.Name = here(w.text)
	case !s.surelyOnPath(w.text, c, h):
		return nil
	default:
		t.Path = h.path
	}
	if strings.Contains(t.Name, "/") && (h.makes(t.Name) || strings.ContainsAny(t.Name, "*?[]{}`")) {
		return nil
	}
	return []need{{Thing: t, Place: w.Place}}
}

// here is a path that begins in the working directory, such that it is no bare name.
func here(file string) string { return "./" + path.Clean(file) }

// surelyOnPath tells whether a name is a program's that is looked for in PATH alone. What
// was loaded before may bring any; a venv brings no tools of the machine.
func (s *script) surelyOnPath(name string, c *command, h handling) bool {
	_, tool := tools[name]
	switch {
	case !programName().MatchString(name), slices.Contains(builtins, name), h.known[name], s.defines(name):
		return false
	case h.loaded < c.index || h.loaded == 0:
		return false
	}
	return h.sourced > c.index || tool
}

// defines tells whether the script has a function of a name.
func (s *script) defines(name string) bool { return slices.Contains(s.functions, name) }

// payload is where the program stands that mpirun and its like start, 0 if that is not known.
func (c *command) payload() int {
	if !slices.Contains([]string{"mpirun", "mpiexec", "orterun"}, c.name) {
		return 0
	}
	for i := 1; i < len(c.words); i++ {
		text := c.words[i].text
		switch name := strings.TrimLeft(text, "-"); {
		case !strings.HasPrefix(text, "-"):
			return i
		case name == "mca" || name == "gmca":
			i += 2
		case slices.Contains([]string{"np", "n", "N", "c", "H", "host", "hostfile", "machinefile", "x", "map-by", "bind-to", "rank-by", "npernode", "ppn", "wdir"}, name):
			i++
		case !slices.Contains([]string{"allow-run-as-root", "oversubscribe", "report-bindings", "tag-output", "v"}, name):
			return 0
		}
	}
	return 0
}

// fileNeeds are files that a command surely reads: the program of an interpreter, and what
// a shell sources.
func (s *script) fileNeeds(c *command, h handling) []need {
	if _, inside := s.mounts(c.context); inside {
		return nil
	}
	i := c.program()
	if i == 0 || i >= len(c.words) {
		return nil
	}
	w := c.words[i]
	file := path.Clean(w.text)
	relative := !strings.HasPrefix(w.text, "/")
	switch {
	case w.text == "" || !w.known() || strings.ContainsAny(w.text, "*?[]{}`~") || h.asked[w.text] || h.makes(file):
		return nil
	case relative && (h.moved < c.index || c.name == "source" && !strings.Contains(w.text, "/")):
		return nil
	}
	return []need{{Thing: Thing{What: File, Name: file}, Place: w.Place}}
}

// program is the word with the file that an interpreter runs, 0 if that cannot be told.
func (c *command) program() int {
	switch {
	case c.name == "source" || c.name == ".":
		return 1
	case slices.Contains(shells, c.name) && c.at == 0 && len(c.words) > 1 && !strings.HasPrefix(c.words[1].text, "-"):
		return 1
	case c.name == "torchrun" || c.python():
		for i, a := range c.args() {
			if a.text == "-m" || a.text == "-c" || a.text == "-" {
				return 0
			}
			if strings.HasSuffix(a.text, ".py") {
				return i + 1
			}
		}
	}
	return 0
}

// imageNeeds are the images that are files.
func (s *script) imageNeeds(h handling) []need {
	var all []need
	add := func(o Option, fatal bool) {
		file := strings.TrimPrefix(o.Value, "file://")
		if !strings.HasPrefix(file, "/") || strings.ContainsAny(file, "$`*?"+string(hole)) || h.makes(path.Clean(file)) || h.asked[file] {
			return
		}
		all = append(all, need{Thing: Thing{What: Image, Name: path.Clean(file)}, Place: s.at(o), fatal: fatal})
	}
	if o, ok := s.option("container-image"); ok {
		add(o, true)
	}
	for _, c := range s.named("srun") {
		if o, ok := c.option("container-image"); ok && !c.maybe {
			add(o, false)
		}
	}
	return all
}

// dataNeeds are paths that their names say to be data, and what is mounted into containers.
func (s *script) dataNeeds(h handling) []need {
	var all []need
	for _, p := range s.spots() {
		kind := use(p.name) == "data" && p.name != "container-image" && !p.variable || p.name == "container-mounts"
		if !kind || p.open || p.assumed || p.maybe || strings.ContainsAny(p.path, "*?[]{}`$") || h.makes(p.path) || h.asked[p.path] {
			continue
		}
		all = append(all, need{Thing: Thing{What: File, Name: p.path}, Place: p.Place})
	}
	return all
}
