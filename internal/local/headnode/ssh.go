package headnode

import (
	"context"
	"fmt"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/services/ssh"
)

// serveSSH opens the doors of a local cluster's machines, where this machine has SSH's
// server, and returns what vouches for its users.
func serveSSH(l *nodes.Layout, r nodes.Record, nodes *nodes.Fleet) (func(context.Context) error, error) {
	if !local.SSHInstalled() {
		return func(context.Context) error { return nil }, nil
	}
	agent, err := local.SSHAgent(l, r)
	if err != nil {
		return nil, err
	}
	socket, err := controller.Listen(services.SocketDir + "/ssh/agent")
	if err != nil {
		return nil, fmt.Errorf("listen for SSH's clients: %w", err)
	}
	return func(ctx context.Context) error { return agent.Serve(ctx, socket) }, nodes.ServeSSH(ssh.ServerLine(), ssh.LoginGrace)
}
