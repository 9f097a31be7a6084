package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/cluster"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/provider/local"
	"github.com/muster-hpc/muster/internal/slurm"
)

// slurmWait is how long Slurm's programs may take to answer a question.
const slurmWait = 5 * time.Second

// fromHost runs Slurm's programs on the head node for a muster on the host.
type fromHost struct {
	layout *local.Layout
	anchor local.AnchorProcess
}

// Run runs a program and returns what it printed.
func (h fromHost) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	line := h.layout.HeadCommand(h.anchor, "/", append([]string{name}, args...))
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(cluster.HeadEnv(), "LC_ALL=C", "SLURM_TIME_FORMAT=standard")
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

// limited bounds a question to Slurm.
func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, slurmWait, fmt.Errorf("no answer within %s", slurmWait))
}

// onHost refuses commands that look at a cluster from outside to those who are
// inside one.
func onHost() error {
	if inside() {
		return errors.New("this looks at the cluster from outside; leave the cluster's shell first")
	}
	return nil
}

// noCluster says that there is no such cluster, and which there are.
func noCluster(ref cluster.Ref) error {
	names, _ := local.Names(ref.Home)
	if near := diag.Nearest(ref.Name, names); near != "" {
		return fmt.Errorf("there is no cluster %s; did you mean %s?", ref.Name, near)
	}
	if len(names) > 0 {
		return fmt.Errorf("there is no cluster %s; there is %s", ref.Name, strings.Join(names, ", "))
	}
	return fmt.Errorf("there is no cluster %s; `muster up FILE` makes one", ref.Name)
}

// slurmHere is a client for the cluster's Slurm that works on the host and on
// the head node, with the anchor's process as seen from there.
func (a *app) slurmHere() (local.AnchorProcess, slurm.Client, error) {
	if inside() {
		return local.AnchorProcess{PID: 1}, slurm.Client{Runner: slurm.Exec{}}, nil
	}
	l, _, anchor, err := a.running()
	return anchor, slurm.Client{Runner: fromHost{layout: l, anchor: anchor}}, err
}
