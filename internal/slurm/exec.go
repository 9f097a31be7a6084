package slurm

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/sys/tail"
)

// Exec runs Slurm's programs as children of this process, on this machine. It
// can be used by many goroutines.
type Exec struct {
	// Conf is the path of slurm.conf, "" for Slurm's own choice.
	Conf string
	// Env is added to this process's environment: "NAME=value". It wins over
	// what is there, and a later entry over an earlier one.
	Env []string
}

// Run runs a program and returns what it printed. If ctx ends, the program is
// killed. An error is a *ProgramError, or wraps ctx's cause.
func (e Exec) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = e.environ(name)
	cmd.WaitDelay = time.Second
	var stderr tail.Writer
	cmd.Stderr = &stderr
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), NewProgramError(ctx, describe(name, args), stderr.String(), err)
	}
	return stdout.Bytes(), nil
}

// environ is the program's environment. What sbatch has is what the job gets,
// so only the programs that we read from are told how to write.
func (e Exec) environ(name string) []string {
	env := append(os.Environ(), e.Env...)
	if e.Conf != "" {
		env = append(env, "SLURM_CONF="+e.Conf)
	}
	if name != "sbatch" && name != "env" {
		env = append(env, "LC_ALL=C", "SLURM_TIME_FORMAT=standard")
	}
	return env
}

// describe names a program's run in a message.
func describe(name string, args []string) string {
	words := append([]string{name}, args...)
	const most = 4
	if len(words) > most {
		words = append(slices.Clone(words[:most]), "...")
	}
	return shorten(strings.Join(words, " "))
}
