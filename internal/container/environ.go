package container

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// environment is a set of variables.
type environment map[string]string

func readEnviron(list []string) environment {
	e := environment{}
	for _, entry := range list {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			e[name] = value
		}
	}
	return e
}

// list is the environment as a program gets it, sorted.
func (e environment) list() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		all = append(all, name+"="+e[name])
	}
	return all
}

// localeVariables speak of the host's locales, which an image need not have.
var localeVariables = []string{"LANG", "LANGUAGE", "LC_ALL"}

// login is what a login in the container sets.
type login struct {
	user, logname, home, shell string
	// path is PATH where the image has none.
	path string
}

// inner is the environment that the container brings: the image's, and what a
// login adds to that.
func inner(outer environment, config Config, enroot bool, l login) environment {
	e := environment{}
	for _, entry := range config.Env {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || !validName(name) {
			continue
		}
		if enroot {
			value = expand(value, outer)
		}
		e[name] = value
	}
	if term, ok := outer["TERM"]; ok {
		e["TERM"] = term
	}
	for name, value := range map[string]string{"USER": l.user, "LOGNAME": l.logname, "HOME": l.home, "SHELL": l.shell, "PATH": l.path} {
		if _, ok := e[name]; !ok {
			e[name] = value
		}
	}
	return e
}

// expand replaces ${NAME} by the variable's value outside, as Enroot does.
func expand(value string, outer environment) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(value, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed || !validName(name) {
			out.WriteString(value)
			return out.String()
		}
		out.WriteString(before + outer[name])
		value = after
	}
}

// changes are what a command's environment outside must become: the container's
// variables, except those that keep their value, and no locale of the host's. Variables of
// Slurm's steps in an image are left out: they are from the step that made the image.
func changes(outer, inner environment, keep []string) (set, unset []string) {
	_, step := outer["SLURM_STEP_ID"]
	kept := func(name string) bool {
		_, ok := outer[name]
		return ok && slices.Contains(keep, name) || step && ofStep(name)
	}
	for _, name := range slices.Sorted(maps.Keys(inner)) {
		if !kept(name) {
			set = append(set, name+"="+inner[name])
		}
	}
	for _, name := range localeVariables {
		_, inside := inner[name]
		if _, outside := outer[name]; outside && !inside && !kept(name) {
			unset = append(unset, name)
		}
	}
	return set, unset
}

// ofStep tells whether a variable is what Slurm tells a task.
func ofStep(name string) bool {
	return strings.HasPrefix(name, "SLURM_") || strings.HasPrefix(name, "PMIX_") || strings.HasPrefix(name, "PMI_")
}

// addPyTorch adds what torch.distributed wants to know about a step of Slurm's, if the
// image is one of PyTorch and no other source has set it.
func addPyTorch(inner, outer environment) {
	if _, ok := inner["PYTORCH_VERSION"]; !ok {
		return
	}
	add := func(name, value string) {
		_, inside := inner[name]
		if _, outside := outer[name]; !inside && !outside && value != "" {
			inner[name] = value
		}
	}
	add("MASTER_ADDR", firstHost(outer["SLURM_STEP_NODELIST"]))
	if id, err := strconv.Atoi(outer["SLURM_JOB_ID"]); err == nil {
		add("MASTER_PORT", strconv.Itoa(61000+id%4536))
	}
	add("WORLD_SIZE", outer["SLURM_NTASKS"])
	tasks, _ := strconv.Atoi(outer["SLURM_STEP_NUM_TASKS"])
	nodes, _ := strconv.Atoi(outer["SLURM_STEP_NUM_NODES"])
	if tasks > max(nodes, 1) {
		add("OMP_NUM_THREADS", "1")
	}
}

// firstHost is the first of a host list such as a-[3-5,9],b.
func firstHost(list string) string {
	head, rest, ok := strings.Cut(list, "[")
	if comma := strings.IndexByte(head, ','); comma >= 0 {
		return head[:comma]
	}
	if !ok {
		return head
	}
	numbers, tail, _ := strings.Cut(rest, "]")
	first := numbers
	if i := strings.IndexAny(numbers, "-,"); i >= 0 {
		first = numbers[:i]
	}
	tail, _, _ = strings.Cut(tail, ",")
	return firstHost(head + first + tail)
}

// loginPath is PATH for images that set none: their login.defs's, or Debian's.
func loginPath(defs []byte, root bool) string {
	key, path := "ENV_PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
	if root {
		key, path = "ENV_SUPATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	for line := range strings.Lines(string(defs)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == key {
			path = strings.TrimPrefix(f[1], "PATH=")
		}
	}
	return path
}
