//go:build linux

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/muster-hpc/muster/internal/aws/agent"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/local"
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
		s.lookAtFleet(ctx, local.SocketClient(services.RunDir, "controller.sock"))
	}
	s.Healthy = len(s.Look)+len(s.Blind) == 0
	return s, nil
}

// lookAtFleet asks the controller whether nodes start.
func (s *clusterStatus) lookAtFleet(ctx context.Context, controller *http.Client) {
	ctx, cancel := limited(ctx)
	defer cancel()
	fleet, err := askFleet(ctx, controller)
	if err != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("fleet: %v", err))
		return
	}
	if fleet.Fleet != "running" {
		s.needs("the fleet is %s: %s", fleet.Fleet, fleet.Why)
	}
}

func askFleet(ctx context.Context, controller *http.Client) (manifest.ClusterStatus, error) {
	var status manifest.ClusterStatus
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://controller/v1/status", http.NoBody)
	if err != nil {
		return status, err
	}
	resp, err := controller.Do(req)
	if err != nil {
		return status, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return status, err
	}
	if resp.StatusCode != http.StatusOK {
		return status, fmt.Errorf("%s: %s", resp.Status, text)
	}
	return status, json.Unmarshal(text, &status)
}
