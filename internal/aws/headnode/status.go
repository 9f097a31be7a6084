package headnode

import (
	"context"
	"time"

	"github.com/muster-hpc/muster/internal/aws/agent"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/status"
)

// Status looks at the cluster on AWS that this machine belongs to.
func Status(ctx context.Context) (status.Cluster, error) {
	ticket, err := agent.ReadTicket(services.TicketFile)
	if err != nil {
		return status.Cluster{}, err
	}
	s := status.Cluster{Name: ticket.Cluster, Place: "aws", File: services.ClusterFile}
	running, err := agent.Services()
	s.JudgeServices(running, err, agent.LogDir, time.Now())
	s.LookAtSlurm(ctx, slurm.Client{Runner: slurm.Exec{}})
	if ticket.Role == manifest.RoleHead {
		s.LookAtFleet(ctx, client.In(services.RunDir))
		s.LookAtExports(ctx, client.In(services.RunDir))
	}
	s.Judge()
	return s, nil
}
