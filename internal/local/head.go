package local

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/slurm"
)

// FromHost runs Slurm's programs on the head node for a muster on the host.
type FromHost struct {
	Layout *nodes.Layout
	Anchor nodes.AnchorProcess
}

// Run runs a program and returns what it printed.
func (h FromHost) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	line := h.Layout.HeadCommand(h.Anchor, "/", append([]string{name}, args...))
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(HeadEnv(), "LC_ALL=C", "SLURM_TIME_FORMAT=standard")
	// The program on the head node outlives nsenter and may hold the pipe.
	cmd.WaitDelay = 100 * time.Millisecond
	out, err := cmd.Output()
	if err == nil {
		return out, nil
	}
	said := ""
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		said = string(exit.Stderr)
	}
	return out, slurm.NewProgramError(ctx, asked(name, args), said, err)
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
