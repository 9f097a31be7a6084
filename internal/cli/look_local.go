//go:build linux

package cli

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/slurm"
)

// fromHost runs Slurm's programs on the head node for a muster on the host.
type fromHost struct {
	layout *nodes.Layout
	anchor nodes.AnchorProcess
}

// Run runs a program and returns what it printed.
func (h fromHost) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	line := h.layout.HeadCommand(h.anchor, "/", append([]string{name}, args...))
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(local.HeadEnv(), "LC_ALL=C", "SLURM_TIME_FORMAT=standard")
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

// slurmHere is a client for the cluster's Slurm that works on the host and on
// the head node.
func (a *app) slurmHere() (slurm.Client, error) {
	if inside() {
		return slurm.Client{Runner: slurm.Exec{}}, nil
	}
	l, _, anchor, err := a.running()
	return slurm.Client{Runner: fromHost{layout: l, anchor: anchor}}, err
}
