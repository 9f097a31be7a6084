package batch

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
)

// Thing is what a script needs of its nodes and does not bring along.
type Thing struct {
	What What
	// Name is the name of a program, or a path. One that is not absolute begins in the
	// directory that the job is submitted from.
	Name string
	// Path are directories that the script itself adds to PATH, with colons between them.
	Path string
}

// What says what a thing is.
type What int

const (
	// Program is run: by its name, or by a path.
	Program What = iota
	// Image is a squashfs file of a container.
	Image
	// File is read, or mounted into a container. Folder holds a program whose own name
	// is not known.
	File
	Folder
	// Function is one that profiles of shells define: that of environment modules.
	Function
)

// Lacking are the things of a script that were looked for where its nodes look, and are
// surely not there.
type Lacking map[Thing]bool

// Things are the files and programs that a script surely needs on its nodes. It leaves out
// those that the script makes, fetches or asks for itself, and those that depend on
// something that it loads before.
func Things(name string, data []byte, flags []string) []Thing {
	s, ok := newScript(name, data, flags, nil)
	if !ok {
		return nil
	}
	var all []Thing
	for _, n := range s.needs() {
		if !slices.Contains(all, n.Thing) {
			all = append(all, n.Thing)
		}
	}
	return all
}

// CheckNeeds is the part of Check that is about Things.
func CheckNeeds(name string, data []byte, flags []string, facts *Facts) *diag.List {
	all := check(name, data, flags, facts, (*script).needRules)
	kept := &diag.List{}
	for _, d := range all.All() {
		if aboutNeeds(d.Code) {
			kept.Append(d)
		}
	}
	return kept
}

// aboutNeeds tells whether a code is one of needRules'.
func aboutNeeds(code string) bool {
	return slices.Contains([]string{"script/program", "script/image-missing", "script/image-remote", "script/file-missing"}, code)
}

// need is a place where a script needs a thing.
type need struct {
	Thing
	diag.Place
	// fatal says that without it no line of the script runs.
	fatal bool
}

func (s *script) needs() []need {
	all := s.interpreterNeed()
	if s.parts || s.shell == "" {
		return all
	}
	h := s.handling()
	for _, c := range s.commands {
		if c.maybe || c.function != "" && !h.called[c.function] {
			continue
		}
		all = append(all, s.programNeed(c, h)...)
		all = append(all, s.moduleNeed(c, h)...)
		all = append(all, s.fileNeeds(c, h)...)
	}
	all = append(all, s.imageNeeds(h)...)
	return append(all, s.dataNeeds(h)...)
}

// interpreterNeed is the program of the first line.
func (s *script) interpreterNeed() []need {
	first, _, _ := strings.Cut(string(s.file.data[:min(len(s.file.data), maxFirstLine)]), "\n")
	fields := strings.Fields(strings.TrimPrefix(first, "#!"))
	if !strings.HasPrefix(first, "#!") || len(fields) == 0 || !strings.HasPrefix(fields[0], "/") {
		return nil
	}
	return []need{{Thing: Thing{What: Program, Name: path.Clean(fields[0])}, Place: s.file.place(0), fatal: true}}
}

// maxFirstLine is more than Linux reads of it.
const maxFirstLine = 512

// handling is what a script does about things that may not be there.
type handling struct {
	// called are the functions that are called, known the names that are no program's.
	called, known map[string]bool
	// asked are words that the script tests or asks for, as in command -v NAME.
	asked map[string]bool
	// made are paths that the script may make.
	made []string
	// moved is the index of the first command that changes the directory, loaded of
	// the first that changes PATH by other means, sourced of the first venv.
	moved, loaded, sourced int
	// path are directories that the script adds to PATH.
	path string
}

// never is an index behind all commands.
const never = maxCommands + 1

// makers are programs whose arguments may come to be.
var makers = []string{
	"aws", "cc", "conda", "cp", "curl", "dd", "docker", "enroot", "git", "install", "ln", "mkdir", "mktemp", "muster", "mv", "podman",
	"rclone", "rsync", "s5cmd", "singularity", "apptainer", "tar", "tee", "touch", "truncate", "unzip", "uv", "virtualenv", "wget", "make", "cmake",
	"gcc", "nvcc", "mpicc", "mpicxx", "g++",
}

// handling goes once through the script.
func (s *script) handling() handling {
	h := handling{called: map[string]bool{}, known: map[string]bool{}, asked: map[string]bool{}, moved: never, loaded: never, sourced: never}
	if s.has("chdir") {
		h.moved = 0
	}
	for _, c := range s.commands {
		h.called[c.name] = true
		if c.function != "" {
			h.known[c.function] = true
		}
		s.handles(c, &h)
	}
	for _, w := range s.words {
		switch {
		case w.role == operand || w.role == listed:
			h.asked[w.text] = true
		case w.role == written:
			h.made = append(h.made, w.text)
		}
	}
	s.pathOf(&h)
	return h
}

// handles notes what one command does about things.
func (s *script) handles(c *command, h *handling) {
	args := c.args()
	switch {
	case c.name == "cd" || c.name == "pushd":
		h.moved = min(h.moved, c.index)
	case c.name == "alias":
		for _, a := range args {
			name, _, _ := strings.Cut(a.text, "=")
			h.known[name] = true
		}
	case slices.Contains([]string{"which", "type", "hash", "test", "["}, c.name), c.name == "command" && asks(args):
		for _, a := range args {
			h.asked[a.text] = true
		}
	case (c.name == "source" || c.name == ".") && len(args) > 0 && strings.HasSuffix(args[0].text, "/activate"):
		h.sourced = min(h.sourced, c.index)
	case slices.Contains([]string{"source", ".", "eval", "module", "ml", "conda", "mamba", "micromamba", "spack", "pyenv", "guix", "nix-shell"}, c.name):
		h.loaded = min(h.loaded, c.index)
	}
	if o, ok := c.option("container-save"); ok && c.name == "srun" {
		h.made = append(h.made, o.Value)
	}
	if slices.Contains(makers, c.name) || c.python() && len(args) > 1 && args[1].text == "venv" {
		for _, a := range c.own()[1:] {
			h.made = append(h.made, strings.TrimPrefix(a.text, "--output="))
		}
	}
}

// asks tells whether `command` only says where a program is.
func asks(args []word) bool {
	return len(args) > 1 && (args[0].text == "-v" || args[0].text == "-V")
}

// pathOf reads what the script adds to PATH. What it cannot read makes all names unknown.
func (s *script) pathOf(h *handling) {
	var dirs []string
	for _, v := range s.assigned("PATH") {
		for dir := range strings.SplitSeq(v.text, ":") {
			switch {
			case dir == string(hole) && strings.Contains(v.raw, "PATH"):
			case !strings.HasPrefix(dir, "/") || strings.ContainsRune(dir, hole):
				h.loaded = 0
			case !slices.Contains(dirs, dir):
				dirs = append(dirs, dir)
			}
		}
	}
	if o, ok := s.option("export"); ok && !strings.Contains(","+o.Value+",", ",ALL,") {
		h.loaded = 0
	}
	h.path = strings.Join(dirs, ":")
}

// makes tells whether the script may make a path, or something above or below it.
func (h handling) makes(file string) bool {
	file = path.Clean(file)
	return slices.ContainsFunc(h.made, func(m string) bool {
		m, _, _ = strings.Cut(m, string(hole))
		m = strings.TrimRight(m, "/")
		return strings.Count(m, "/") > 1 && (within(m, file) || within(file, path.Clean(m))) || m != "" && path.Clean(m) == file
	})
}
