package headnode

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/job/keeper"
	"github.com/muster-hpc/muster/internal/job/secret"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
)

// kept are the cluster's jobs and what keeps them: the keeper, with the processes that look at users' files, the jobs'
// secrets, and the door on the cluster's network where jobs ask for those.
type kept struct {
	jobs    *keeper.Keeper
	crew    *errand.Crew
	secrets *secret.Store
	door    net.Listener
}

func openKept(ctx context.Context, l *nodes.Layout, events *controller.Events, log *slog.Logger) (k kept, err error) {
	if k.secrets, err = secret.Open(l.Path("state", "secrets"), slurm.Proven{Client: slurm.Client{Runner: l.HeadRunner()}}, log); err != nil {
		return k, err
	}
	var where net.ListenConfig
	k.door, err = where.Listen(ctx, "tcp", net.JoinHostPort(nodes.HeadAddress.String(), strconv.Itoa(join.SecretsPort)))
	if err != nil {
		return k, fmt.Errorf("listen for jobs that ask for their secrets: %w", err)
	}
	k.jobs, k.crew, err = openKeeper(l, events, log)
	return k, err
}

// run keeps jobs, and gives and forgets secrets, until ctx ends.
func (k kept) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	munge := join.Munge{Socket: services.SocketDir + "/munge/munge.socket.2"}
	group.Go(func() error { return k.jobs.Run(ctx) })
	group.Go(func() error { return controller.ServeSecrets(ctx, k.door, k.secrets.Give, munge) })
	group.Go(func() error { return k.secrets.Run(ctx) })
	return group.Wait()
}
