//go:build linux

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/aws/agent"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
)

// statusHere looks at the cluster on AWS that this machine belongs to.
func statusHere(ctx context.Context) (clusterStatus, error) {
	ticket, err := agent.ReadTicket(services.TicketFile)
	if err != nil {
		return clusterStatus{}, err
	}
	s := clusterStatus{Name: ticket.Cluster, Place: onAWS, File: services.ClusterFile}
	running, err := agent.Services()
	s.judgeServices(running, err, agent.LogDir, time.Now())
	s.lookAtSlurm(ctx, slurm.Client{Runner: slurm.Exec{}})
	if ticket.Role == manifest.RoleHead {
		s.lookAtFleet(ctx, client.In(services.RunDir))
	}
	s.Healthy = len(s.Look)+len(s.Blind) == 0
	return s, nil
}

// lookAtFleet asks the controller whether nodes start.
func (s *clusterStatus) lookAtFleet(ctx context.Context, control client.Client) {
	ctx, cancel := limited(ctx)
	defer cancel()
	fleet, err := control.Status(ctx)
	if err != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("fleet: %v", err))
		return
	}
	if fleet.Fleet != "running" {
		s.needs("the fleet is %s: %s", fleet.Fleet, fleet.Why)
	}
}
