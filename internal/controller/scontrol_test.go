package controller_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Nodes, UpdateNodes, Jobs and Requeue are scontrol.
func (s *slurmctld) Nodes(ctx context.Context) ([]slurm.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(context.Cause(ctx), s.silent); err != nil {
		return nil, err
	}
	var all []slurm.Node
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		all = append(all, s.nodes[name].Node)
	}
	return all, nil
}

func (s *slurmctld) UpdateNodes(_ context.Context, names []string, state, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.silent, s.deaf); err != nil {
		return err
	}
	for _, name := range names {
		n := s.nodes[name]
		if n == nil {
			return fmt.Errorf("no node %s", name)
		}
		switch state {
		case "DOWN":
			s.fail(n, reason, time.Now())
		case "DRAIN":
			n.set(slurm.FlagDrain)
			n.Reason = reason
		case "POWER_DOWN":
			n.set(slurm.FlagPowerDownRequested)
		case "POWER_UP":
			if n.has(slurm.FlagPoweredDown) || n.has(slurm.FlagPoweringDown) { // others are on already, or on their way
				n.set(slurm.FlagPowerUpRequested)
			}
		default:
			return fmt.Errorf("no state %s", state)
		}
	}
	return nil
}

func (s *slurmctld) Jobs(context.Context) ([]slurm.Job, []slurm.Problem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []slurm.Job
	for _, j := range s.jobs {
		all = append(all, j.Job)
	}
	return all, nil, s.silent
}

func (s *slurmctld) Requeue(_ context.Context, job string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent == nil {
		s.labelled(job).again(time.Now())
	}
	return s.silent
}

func (s *slurmctld) Cancel(_ context.Context, job string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent == nil {
		s.labelled(job).stop("CANCELLED", time.Now())
		s.free(s.labelled(job), time.Now())
	}
	return s.silent
}

// labelled is the job of a label, which is a number here.
func (s *slurmctld) labelled(job string) *slurmJob {
	id, _ := strconv.Atoi(job)
	return s.jobs[id-1]
}

// Partitions is one for each queue of the nodes.
func (s *slurmctld) Partitions(context.Context) ([]slurm.Partition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{}
	var all []slurm.Partition
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		for _, q := range s.nodes[name].Partitions {
			if !seen[q] {
				all = append(all, slurm.Partition{Name: q, State: cmp.Or(s.partitions[q], "UP")})
			}
			seen[q] = true
		}
	}
	return all, s.silent
}

func (s *slurmctld) SetPartition(_ context.Context, name, state string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent == nil {
		s.partitions[name] = state
	}
	return s.silent
}

// SetAddresses is scontrol's, too.
func (s *slurmctld) SetAddresses(_ context.Context, names, addresses []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent != nil {
		return s.silent
	}
	s.addressCalls++
	for i, n := range names {
		s.nodes[n].Address = addresses[i]
	}
	return nil
}

func (s *slurmctld) Reservations(context.Context) ([]slurm.Reservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []slurm.Reservation
	for _, name := range slices.Sorted(maps.Keys(s.reservations)) {
		all = append(all, slurm.Reservation{Name: name, NodeList: slurm.Compress(s.reservations[name])})
	}
	return all, s.silent
}

func (s *slurmctld) Reserve(_ context.Context, name string, nodes []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reservations[name] = nodes
	return nil
}

func (s *slurmctld) Unreserve(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reservations, name)
	return nil
}

// pending are the jobs that wait for nodes, as slurmctld writes them into its
// resume file.
func (s *slurmctld) pending(nodes []string) []fleet.PendingJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pending []fleet.PendingJob
	for _, j := range s.jobs {
		if j.State != "RUNNING" {
			continue
		}
		w := fleet.PendingJob{Job: j.ID}
		for _, n := range j.nodes {
			if slices.Contains(nodes, n) {
				w.Nodes = append(w.Nodes, n)
			}
		}
		if len(w.Nodes) > 0 {
			pending = append(pending, w)
		}
	}
	return pending
}

func (s *slurmctld) partition(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.partitions[name]
}
