package local

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/slurm"
)

// slurmOf asks and changes the Slurm of a cluster from the host.
func slurmOf(l *nodes.Layout, a nodes.AnchorProcess) slurm.Client {
	return slurm.Client{Runner: FromHost{Layout: l, Anchor: a}}
}

// FromHost runs Slurm's programs on the head node for a muster on the host.
type FromHost struct {
	Layout *nodes.Layout
	Anchor nodes.AnchorProcess
}

// Run runs a program and returns what it printed.
func (h FromHost) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	out, err := output(ctx, h.Layout.HeadCommand(h.Anchor, "/", append([]string{name}, args...)))
	if err != nil {
		return out, slurm.NewProgramError(ctx, asked(name, args), "", err)
	}
	return out, nil
}

// output is what a program prints. When ctx ends, it is told to end with all that it
// started: what enters the head node is the parent of what runs there, and of that a part
// may go on and hold the pipe.
func output(ctx context.Context, line []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(HeadEnv(), "LC_ALL=C", "SLURM_TIME_FORMAT=standard")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

// asked is a command line without its options.
func asked(name string, args []string) string {
	words := []string{name}
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			words = append(words, arg)
		}
	}
	return strings.Join(words, " ")
}
