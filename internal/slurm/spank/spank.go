// Package spank is Slurm's plugin for containers: a small program in C that gives
// srun, sbatch and salloc the options of Pyxis, starts `muster container hold` for
// a step and has the step's tasks join what that made. It promises that the plugin
// is built for the Slurm that is here, and that Pyxis goes first where it is
// installed, or on AWS, set up. What a container is made of it leaves to muster.
package spank

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// source has the plugin's files in plugin/.
//
//go:embed plugin/*.c plugin/*.h
var source embed.FS

// Name is the plugin's file.
const Name = "spank_muster.so"

// Packaged is the name of a plugin that was built beforehand for a version of
// Slurm, such as "22.05.8": Slurm loads only what was built for the same release.
func Packaged(version string) string {
	return "spank_muster-" + release(version) + ".so"
}

// release is a version without its last part.
func release(version string) string {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

// Stack is Slurm's plugstack.conf: one plugin, which must load.
type Stack struct {
	// Plugin is the path of the plugin where Slurm's programs run.
	Plugin string
	// Args are KEY=VALUE.
	Args []string
}

// Conf is the file's text.
func (s Stack) Conf() string {
	return "# Written by muster.\n" + strings.Join(append([]string{"required", s.Plugin}, s.Args...), " ") + "\n"
}

// pluginDirs are where Slurm's plugins lie, and where Pyxis installs itself.
var pluginDirs = []string{
	"/usr/local/lib/slurm", "/usr/lib/*/slurm-wlm", "/usr/lib/slurm-wlm", "/usr/lib64/slurm", "/usr/lib/slurm", "/usr/lib/*/slurm",
}

// Pyxis is the path of Pyxis's plugin, "" where it or Enroot is not installed.
func Pyxis() string {
	if _, err := exec.LookPath("enroot"); err != nil {
		return ""
	}
	return pyxisIn(pluginDirs)
}

func pyxisIn(dirs []string) string {
	for _, dir := range dirs {
		if found, err := filepath.Glob(filepath.Join(dir, "spank_pyxis.so")); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// Configured is the stack of Pyxis where it is set up: plugstack.conf in the
// directory of Slurm's configuration, or a file that it may include, names its plugin,
// and Enroot has a configuration. ParallelCluster's images have both installed and
// neither set up: there, Enroot has no directory that users can write to.
func Configured(conf, enroot string) (Stack, bool) {
	if _, err := os.Stat(enroot); err != nil {
		return Stack{}, false
	}
	files, _ := filepath.Glob(filepath.Join(conf, "plugstack.conf.d", "*")) // the pattern is sound
	for _, name := range append(files, filepath.Join(conf, "plugstack.conf")) {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if len(words) > 1 && (words[0] == "required" || words[0] == "optional") && filepath.Base(words[1]) == "spank_pyxis.so" {
				return Stack{Plugin: words[1], Args: words[2:]}, true
			}
		}
	}
	return Stack{}, false
}

// EnrootConf is Enroot's configuration.
const EnrootConf = "/etc/enroot/enroot.conf"

// Own is the stack of muster's plugin. muster is the program's path on nodes.
func Own(plugin, muster string) Stack {
	return Stack{Plugin: plugin, Args: []string{"muster=" + muster, "container_scope=job"}}
}

// hint is what to do where the plugin cannot be built.
func hint(err error, said string) error {
	if said = strings.TrimSpace(said); said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return fmt.Errorf("build Slurm's plugin for containers: %w; `muster doctor` says what is missing and installs it", err)
}
