package batch

import (
	"slices"
	"strings"
)

// environments are programs that run another one with the libraries of an environment.
var environments = []string{"conda", "mamba", "micromamba", "uv", "poetry", "pipenv"}

// afterEnvironment is where the command stands in conda run, uv run and the like.
func (c *command) afterEnvironment() int {
	run := c.subcommandIndex("run")
	if run == 0 {
		return 0
	}
	rest := command{words: c.words[run:]}
	if c.name == "uv" && slices.ContainsFunc(rest.args(), func(w word) bool { return w.text == "-m" || w.text == "--module" }) {
		return 0
	}
	i := rest.after(nil, "n", "p", "name", "prefix", "cwd", "r", "root-prefix", "with", "with-requirements", "with-editable", "python", "extra", "group",
		"env-file", "project", "directory", "index-url", "extra-index-url", "default-index", "package")
	if i == 0 || run+i >= len(c.words) || strings.HasSuffix(c.words[run+i].text, ".py") {
		return 0
	}
	return run + i
}

// afterImage is where the command stands in apptainer exec: behind the image.
func (c *command) afterImage() int {
	run := c.subcommandIndex("exec")
	if run == 0 {
		return 0
	}
	rest := command{words: c.words[run:]}
	image := rest.after(nil, "B", "bind", "mount", "env", "env-file", "W", "workdir", "H", "home", "pwd", "cwd", "o", "overlay", "S", "scratch", "security",
		"network", "network-args", "app", "apply-cgroups", "hostname", "dns", "fusemount", "add-caps", "drop-caps", "memory", "cpus", "cpuset-cpus",
		"pem-path", "pids-limit")
	for i := image + 1; image > 0 && run+i < len(c.words); i++ {
		if w := c.words[run+i]; !isImage(w) { // what stood before it was options in a variable
			return run + i
		}
	}
	return 0
}

// apptainerMounts are what apptainer mounts into its container, in a list that begins with a comma.
func (c *command) apptainerMounts() string {
	all := ""
	if c.name != "apptainer" && c.name != "singularity" {
		return all
	}
	for i := range c.own() {
		if w, ok := optionValue(c.own(), i, []string{"--bind", "-B"}); ok {
			all += "," + w.text
		}
	}
	return all
}

// isImage tells whether a word is surely the image of a container.
func isImage(w word) bool {
	return strings.HasSuffix(w.text, ".sif") || strings.HasSuffix(w.text, ".simg") || strings.HasSuffix(w.text, ".sqsh") || strings.Contains(w.text, "docker://")
}

// subcommandIndex is where a command's first word stands that is no option, if it is a certain one; 0 is nowhere.
func (c *command) subcommandIndex(name string) int {
	if i := c.after(nil, "c", "config", "directory", "project"); i > 0 && i < len(c.words) && c.words[i].text == name {
		return i
	}
	return 0
}

// talkers are programs whose words are no command that they run here.
var talkers = []string{
	"", "echo", "printf", "man", "which", "type", "hash", "whereis", "test", "[", "grep", "egrep", "pgrep", "pkill", "killall", "set", "alias", "module", "ml", "logger",
	"ssh", "pdsh", "clush", "salloc", "sbatch", "cp", "mv", "rm", "ln", "chmod", "touch", "awk", "sed", "read", "ls", "cat", "trap", "git", "pip", "python", "python3", "pidof", "unset",
}

// beforeSrun is where srun stands behind a program that is not known, and that runs it: flock FILE srun, retry srun.
func (c *command) beforeSrun() int {
	if slices.Contains(talkers, c.name) {
		return 0
	}
	i := slices.IndexFunc(c.words, func(w word) bool { return w.is("srun") })
	if i < 1 || i+1 >= len(c.words) {
		return 0
	}
	return i
}
