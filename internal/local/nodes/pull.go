package nodes

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/provider"
)

// Running lists the nodes of an anchor that run, with process IDs as the caller
// sees them.
func Running(a AnchorProcess) ([]provider.Instance, error) {
	inits, err := nodeInits(a.PID)
	if err != nil {
		return nil, err
	}
	instances := make([]provider.Instance, len(inits))
	for i, n := range inits {
		instances[i] = provider.Instance{Node: n.name, ID: strconv.Itoa(n.pid), Started: n.began}
	}
	return instances, nil
}

// PullPlug ends a node as a power cut would: its init process is killed, and all
// that ran on the node dies with it, without a message. It returns when
// the node is gone, and fails if the node does not run.
func PullPlug(ctx context.Context, a AnchorProcess, node string) error {
	pid, err := NodePID(a, node)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("open process %d of node %s: %w", pid, node, err)
	}
	defer unix.Close(fd)
	// Only now does the number surely mean the process that we looked at.
	if now, err := NodePID(a, node); err != nil || now != pid {
		return fmt.Errorf("node %s ended by itself just now", node)
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("end process %d of node %s: %w", pid, node, err)
	}
	return awaitEnd(ctx, fd)
}
