package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/services/supervise"
)

const (
	// settledAfter is how often in a row Slurm has to know a node before it is asked no
	// more. What slurmctld has known for that long it has also written down.
	settledAfter = 4
	// settleWait bounds one question.
	settleWait = 10 * time.Second
)

// settle sees to it that Slurm knows that the node is up: slurmctld does not ask a
// node that it sees powering up, and a slurmd registers by itself only when it starts.
func (n *node) settle(ctx context.Context) {
	if n.Name == "" || n.settled >= settledAfter {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	s, err := n.controller().Ready(ctx, join.Ready{InstanceID: n.identity.InstanceID, Node: n.Name, Again: true})
	switch {
	case err != nil:
		n.Log.Warn("not known whether Slurm knows this node", "error", err)
	case !s.Register:
		n.settled++
	default:
		n.settled = 0
		n.Log.Warn("Slurm still waits for this node: slurmd registers again")
		if err := register(statusFile); err != nil {
			n.Log.Error("slurmd does not register again", "error", err)
		}
	}
}

// register has the machine's slurmd register again. It does so when it reads its
// configuration again; its jobs do not notice.
func register(statusFile string) error {
	status, err := supervise.LoadStatus(statusFile)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(status, func(s supervise.Status) bool { return s.Name == "slurmd" })
	if i < 0 || status[i].PID == 0 || status[i].Phase != supervise.Ready {
		return errors.New("slurmd does not run")
	}
	return unix.Kill(status[i].PID, unix.SIGHUP)
}
