package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/tie"
	"github.com/muster-hpc/muster/internal/verify/burnin"
)

// burnIn has a new machine prove itself alone, as muster.yaml wishes for its queue, once in its life: before it is Slurm's. It runs in a
// process of its own, which ends with this one. A machine that is unfit is an error; what nobody could look at is told, and is none.
func (n *node) burnIn(ctx context.Context) (string, error) {
	wish := n.cluster.workload.BurnInOf(n.Ticket.Queue)
	if wish == nil {
		return "none in muster.yaml", nil
	}
	fitness, err := burnin.ReadFitness(burnin.Dir)
	if errors.Is(err, os.ErrNotExist) {
		ctx, cancel := context.WithTimeoutCause(ctx, wish.Limit()+spec.BurnInEnds, fmt.Errorf("it does not end within %s", wish.Limit()+spec.BurnInEnds))
		defer cancel()
		if ended := n.runBurnIn(ctx); ctx.Err() != nil {
			return "", context.Cause(ctx)
		} else if fitness, err = burnin.ReadFitness(burnin.Dir); err != nil {
			return "", errors.Join(ended, err)
		}
	}
	if err != nil {
		return "", err
	}
	if fitness.Unfit != "" {
		if n.report, err = burnin.ReadReport(burnin.Dir); err != nil {
			n.Log.Warn("the burn-in's report goes with the machine", "error", err)
		}
		return "", fmt.Errorf("unfit: %s", fitness.Unfit)
	}
	n.burned = fitness.Line()
	if fitness.Blind != "" {
		n.tell("burn-in: " + fitness.Blind)
	}
	return n.burned, nil
}

// runBurnIn runs it, and logs what it says.
func (n *node) runBurnIn(ctx context.Context) error {
	r, w := io.Pipe()
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			n.Log.Info("burn-in", "said", lines.Text())
		}
		_, _ = io.Copy(io.Discard, r)
	}()
	cmd := exec.Command(n.Program, "agent", "burn-in", "--node="+n.Name, "--type="+n.identity.Type, "--out="+burnin.Dir)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = "/", w, spec.BurnInEnds
	err := tie.Program{Cmd: cmd, AtDeath: syscall.SIGTERM}.RunUntil(ctx)
	_ = w.Close()
	<-heard
	return err
}
