package headnode

import (
	"log/slog"
	"time"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/job/keeper"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
)

// jobsDir has what the keeper knows of jobs.
const jobsDir = stateDir + "/jobs"

// openKeeper is the keeper of the cluster's jobs, with the processes that look at its users' files. owners may take nodes out
// of service.
func openKeeper(owners []int, events *controller.Events, log *slog.Logger) (*keeper.Keeper, *errand.Crew, error) {
	client := slurm.Client{Runner: slurm.Exec{}}
	crew := keeper.Crew(as, services.Muster)
	k, err := keeper.New(keeper.Config{
		Queue: slurm.Proven{Client: client}, Ledger: client, Orders: client, Fates: client, Files: crew, Scribe: crew, Owners: owners,
		Probe: keeper.Prober(as, services.Muster), State: jobsDir, Log: log, Tell: func(e keeper.Event) { events.JobEvent(e.Job, e.Kind, e.Nodes, e.Reason, e.Hint) },
		Pace: keeper.Pace{Quiet: 15 * time.Second, Busy: 3 * time.Second, Checkpoints: time.Minute},
	})
	return k, crew, err
}

// as is the start of a command line that runs as a user.
func as(u errand.User) []string { return u.Line() }
