package batch

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// spot is a path in the script, as the node sees it.
type spot struct {
	context
	diag.Place
	// path is clean and absolute. open says that more follows that is not known.
	path string
	open bool
	// assumed says that the path is a default that users may change.
	assumed bool
	// variable says that it is a variable's value; variableName is the variable that is set.
	variable     bool
	variableName string
	// raw is how the word is written that it is in.
	raw string
	// carried says that a variable of several words has it, whose assignment has it, too.
	carried bool
	// name is what it is for: the option that it is the value of, or the variable.
	name string
	// sure says that it stands in what surely runs, asked that the script only asks whether it is there.
	sure, asked bool
	// read says that a program that writes no checkpoint is given it.
	read bool
	// of is the variable whose value it is, nil if it is none's.
	of *variable
}

// system are the directories that a node has of itself. What is below them is no
// business of the cluster file's.
var system = []string{
	"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/local", "/media", "/mnt", "/opt", "/proc", "/root", "/run",
	"/sbin", "/scratch", "/srv", "/sys", "/tmp", "/usr", "/var",
}

// wordy are programs whose arguments may be anything, remote those that take
// paths on other machines.
var (
	wordy  = []string{"echo", "printf", "logger", "awk", "gawk", "mawk", "sed", "grep", "egrep", "perl", "jq", "curl"}
	remote = []string{"rsync", "scp", "sftp", "ssh"}
)

// A path begins a word, or stands behind a sign that parts of words end with.
var pathPattern = pattern.New("(?:^|[=:,\\s\"'(@])(/[^\\s:,\"'()=;|&<>]*)")

// spots are the paths of the script that are surely on nodes: those of
// containers are followed through their mounts.
func (s *script) spots() []spot {
	var all []spot
	for _, o := range s.options {
		all = append(all, s.spotsIn(word{value: value{text: o.Value}, Place: o.Place, raw: o.Value}, o.Name)...)
	}
	markUsed(all, true)
	for _, c := range s.commands {
		if slices.Contains(engines, c.name) || slices.Contains(wordy, c.name) {
			continue
		}
		from := len(all)
		for _, w := range namedWords(c.own(), "") {
			if !(slices.Contains(remote, c.name) && strings.Contains(w.text, ":/")) {
				all = append(all, s.spotsIn(w.word, w.name)...)
			}
		}
		asVariables(all[from:], c.name == ":") // as in : "${DATA:=/data}"
		markUsed(all[from:], s.certain(c.context))
		markAsked(all[from:], c.name == "[" || c.name == "test")
		evaluates := len(all) > from && c.readsCheckpoints()
		for i := range all[from:] {
			all[from+i].read = evaluates && !saveName().MatchString(all[from+i].name)
		}
	}
	for _, v := range s.variables {
		from := len(all)
		for _, w := range namedWords(append(v.split(), v.items...), v.name) {
			if !strings.HasPrefix(w.name, "container-") {
				w.name = v.name
			}
			all = append(all, s.spotsIn(w.word, w.name)...)
		}
		asVariables(all[from:], true)
		markUsed(all[from:], s.certain(v.context))
		for i := range all[from:] {
			all[from+i].variableName, all[from+i].of = v.name, v
		}
	}
	for _, w := range s.words {
		if w.role == written || w.role == opened || w.role == operand || w.role == listed {
			from := len(all)
			all = append(all, s.spotsIn(w, "")...)
			markUsed(all[from:], w.role != listed && s.certain(w.context))
			markAsked(all[from:], w.role == operand)
		}
	}
	return all
}

// namedWord is a word and what it is for: the option that it is the value of.
type namedWord struct {
	word
	name string
}

// namedWords tells of each word what it is for. otherwise is what those are for that are
// no option's.
func namedWords(words []word, otherwise string) []namedWord {
	all := make([]namedWord, len(words))
	name := otherwise
	for i, w := range words {
		option, _, valued := strings.Cut(w.text, "=")
		if strings.HasPrefix(w.text, "-") {
			name = optionName(option)
		}
		all[i] = namedWord{w, name}
		if valued || !strings.HasPrefix(w.text, "-") {
			name = otherwise
		}
	}
	return all
}

// split is the value of a variable, cut at its blanks.
func (v *variable) split() []word {
	var all []word
	for text := range strings.FieldsSeq(v.text) {
		all = append(all, word{value: value{text: text, assumed: v.assumed}, context: v.context, Place: v.Place, raw: v.raw})
	}
	return all
}

func asVariables(spots []spot, are bool) {
	for i := range spots {
		spots[i].variable = spots[i].variable || are
	}
}

func markUsed(spots []spot, surely bool) {
	for i := range spots {
		spots[i].sure = surely
	}
}

func markAsked(spots []spot, are bool) {
	for i := range spots {
		spots[i].asked = are
	}
}

// optionName is an option's name with - for _, as all spellings have it.
func optionName(text string) string {
	return strings.ReplaceAll(strings.TrimLeft(text, "-"), "_", "-")
}

// spotsIn are the paths in a text. Of the mounts of a container, those on the
// node are taken, and of other options of containers' none.
func (s *script) spotsIn(w word, name string) []spot {
	text, c := w.text, w.context
	switch optionName(name) {
	case "container-mounts":
		var sources []string
		for _, m := range mountsIn(strings.TrimPrefix(text, "--container-mounts=")) {
			sources = append(sources, m[0])
		}
		text, c = strings.Join(sources, " "), context{}
	case "container-workdir", "container-name", "wrap":
		return nil
	case "container-image", "container-save", "output", "error", "chdir":
		c = context{}
	}
	var all []spot
	for _, m := range pathPattern().FindAllStringSubmatch(text, -1) {
		known, _, open := strings.Cut(m[1], string(hole))
		on, ok := s.onNode(known, c)
		if !ok || strings.HasPrefix(known, "//") {
			continue
		}
		all = append(all, spot{context: c, Place: w.Place, path: path.Clean(on), open: open, assumed: w.assumed, raw: w.raw, carried: w.carried, name: optionName(name)})
	}
	return all
}

// hasContainers tells whether anything runs in a container.
func (s *script) hasContainers() bool {
	return slices.ContainsFunc(s.commands, func(c *command) bool {
		return slices.Contains(engines, c.name) || c.name == "srun" && c.has("container-image", "container-name")
	})
}

// mountsIn are the sources and targets in a list like /a:/b:ro,/c.
func mountsIn(list string) [][2]string {
	var all [][2]string
	for item := range strings.SplitSeq(list, ",") {
		parts := strings.Split(item, ":")
		target := parts[0]
		if len(parts) > 1 {
			target = parts[1]
		}
		all = append(all, [2]string{parts[0], target})
	}
	return all
}

// onNode is where on the node a path leads to. In a container, only mounts do.
func (s *script) onNode(file string, c context) (string, bool) {
	mounts, inside := s.mounts(c)
	if !inside {
		return file, true
	}
	for _, m := range mounts {
		if strings.HasPrefix(m[0], "/") && m[1] != "/" && within(m[1], file) {
			return m[0] + strings.TrimPrefix(path.Clean(file), m[1]), true
		}
	}
	return "", false
}

// mounts are those of the container that something runs in.
func (s *script) mounts(c context) (mounts [][2]string, inside bool) {
	if o := c.contained(); o != nil {
		list, _ := o.option("container-mounts")
		return mountsIn(list.Value + o.apptainerMounts()), true
	}
	if s.has("container-image", "container-name") {
		list, _ := s.option("container-mounts")
		return mountsIn(list.Value), true
	}
	return nil, false
}

// root is a path's first directory; "" is not known.
func (p spot) root() string {
	first, _, more := strings.Cut(strings.TrimPrefix(p.path, "/"), "/")
	if first == "" || p.open && !more || strings.ContainsAny(first, "*?[]{}\\$`!") {
		return ""
	}
	return "/" + first
}

// mountNames are how people call shared file systems.
var mountNames = pattern.New(`^/(fsx|lustre|efs|nfs|shared|share|gpfs|weka|beegfs|ceph|storage)[-_a-z0-9]*$`)

// mountRules find paths where the cluster has no shared storage. What follows
// from a variable's value is said where it is set.
func mountRules(s *script) {
	if s.facts == nil || !s.facts.Filed {
		return
	}
	lines := map[string]bool{}
	roots := map[string]bool{}
	var composed []spot
	for _, p := range s.spots() {
		root := p.root()
		line := root + strconv.Itoa(p.Line)
		if lines[line] || p.asked || !s.nowhere(p.path, root) || p.variable && s.begins(p.path) {
			continue
		}
		if !p.spells(root) {
			composed = append(composed, p)
			continue
		}
		lines[line], roots[root] = true, true
		s.noMount(p, root)
	}
	for _, p := range composed {
		if root := p.root(); !roots[root] && !p.assumed {
			roots[root] = true
			s.noMount(p, root)
		}
	}
}

// spells tells whether a root stands in the script as it is, and not behind a
// variable that is empty by default.
func (p spot) spells(root string) bool {
	i := strings.Index(p.raw, root)
	return i == 0 || i > 0 && !isNameRune(rune(p.raw[i-1])) && p.raw[i-1] != '}' && p.raw[i-1] != ')'
}

// begins tells whether the name of a mount begins so: D=/fsx, and then ${D}1.
func (s *script) begins(file string) bool {
	return slices.ContainsFunc(s.facts.Mounts, func(m Mount) bool { return strings.HasPrefix(m.Dir, file) })
}

// nowhere tells whether a path is neither shared nor a node's own.
func (s *script) nowhere(file, root string) bool {
	_, shared := s.facts.mount(file)
	return root != "" && !shared && !slices.Contains(system, root) && !s.scratch(file) && !s.leadsToMount(file)
}

// scratch tells whether a path is on the nodes' own disks.
func (s *script) scratch(file string) bool {
	return slices.ContainsFunc(s.facts.Queues, func(q Queue) bool { return q.ScratchDir != "" && within(q.ScratchDir, file) })
}

// leadsToMount tells whether a mount is below a path, as below /data of /data/a.
func (s *script) leadsToMount(file string) bool {
	return slices.ContainsFunc(s.facts.Mounts, func(m Mount) bool { return within(file, m.Dir) || within("/"+strings.Split(file, "/")[1], m.Dir) })
}

func (s *script) noMount(p spot, root string) {
	var dirs []string
	for _, m := range s.facts.Mounts {
		if m.Kind != "HeadNode" && m.Kind != "" {
			dirs = append(dirs, m.Dir)
		}
	}
	slices.Sort(dirs)
	meant := !p.assumed && (mountNames().MatchString(root) || diag.Nearest(root, dirs) != "")
	var d *diag.Diagnostic
	switch {
	case meant && p.sure && (p.of == nil || s.surelyUsed(p.of)):
		d = s.errorf("script/mount", p.Place, "the cluster has no shared storage at %s", root)
	case meant:
		d = s.warnf("script/mount", p.Place, "the cluster has no shared storage at %s", root)
	case p.variable && s.hasContainers():
		return // it may be meant for the inside of a container
	default:
		d = s.warnf("script/mount", p.Place, "%s is on no shared storage: every node has its own, if at all", root)
	}
	if len(dirs) > 0 {
		d.WithHint("there is %s", strings.Join(dirs, ", "))
	}
}
