package headnode

import (
	"log/slog"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/job/keeper"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
)

// openKeeper is the keeper of the cluster's jobs, with the processes that look at its users' files.
func openKeeper(l *nodes.Layout, events *controller.Events, log *slog.Logger) (*keeper.Keeper, *errand.Crew, error) {
	r, err := l.Record()
	if err != nil {
		return nil, nil, err
	}
	client := slurm.Client{Runner: l.HeadRunner()}
	as := func(u errand.User) []string { return l.HeadAs(u.UID, u.GID) }
	crew := keeper.Crew(as, services.Muster)
	k, err := keeper.New(keeper.Config{
		Queue: slurm.Proven{Client: client}, Ledger: client, Orders: client, Fates: client, Files: crew, Scribe: crew, Owners: append(controller.Users("slurm"), r.UID),
		Probe: keeper.Prober(as, services.Muster),
		State: l.Path("state", "jobs"), Log: log, Tell: func(e keeper.Event) { events.JobEvent(e.Job, e.Kind, e.Nodes, e.Reason, e.Hint) },
	})
	return k, crew, err
}
