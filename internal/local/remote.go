package local

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Controller is a cluster's.
func Controller(l *nodes.Layout) client.Client { return client.In(controllerDir(l.Dir)) }

// controllerDir is the folder of the controller's socket in a run directory.
func controllerDir(dir string) string { return filepath.Join(dir, sockets("muster")) }

// HeadEnv is the environment of a program of ours that runs on the head node for the
// caller: the caller's own, but for what belongs to this machine or to another
// cluster, and for what he has activated, which is for his own programs: see carry.
func HeadEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !staysBehind(name) {
			env = append(env, v)
		}
	}
	return append(append(env, "PATH="+strings.Join(searched(nil), ":")), ownVariables()...)
}

// ownVariables are those that the cluster sets, and what leads AWS programs to its own
// S3 server. AWS credentials stay behind: a rehearsal must not write to real buckets.
func ownVariables() []string {
	return []string{
		"LC_ALL=C.UTF-8", "SHELL=/bin/bash", "PDSH_RCMD_TYPE=ssh",
		"AWS_CONFIG_FILE=" + services.AWSDir + "/config",
		"AWS_SHARED_CREDENTIALS_FILE=" + services.AWSDir + "-credentials",
		"AWS_EC2_METADATA_DISABLED=true",
	}
}

func staysBehind(name string) bool {
	switch name {
	case "PATH", "LC_ALL", "SHELL", "PWD", "OLDPWD", "TMPDIR", "MANPATH", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV":
		return true
	}
	prefixes := []string{"AWS_", "SLURM_", "SBATCH_", "SALLOC_", "SRUN_", "MUSTER_", "LD_", "XDG_", "DBUS_", "SSH_", "SUDO_", "PYENV_"}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// Runner runs Slurm's programs on the head node of a cluster for a process of
// the host, in a directory.
type Runner struct {
	Layout *nodes.Layout
	Anchor nodes.AnchorProcess
	Dir    string
}

// Run runs a program and returns what it printed.
func (r Runner) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	line := r.Layout.HeadCommand(r.Anchor, r.Dir, slices.Concat([]string{"env"}, HeadEnv(), []string{name}, args))
	return slurm.Exec{}.Run(ctx, line[0], line[1:]...)
}
