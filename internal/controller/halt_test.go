package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

func TestRun_protects_a_queue_whose_nodes_do_not_boot(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		s.config.Revision = "a"
		s.stop()
		s.start(t)
		for _, n := range nodeNames("q-dy-r-[1-3]") {
			s.slurm.slow(n, true)
		}
		j := s.slurm.submitTo("q", 3, time.Minute)
		closed := func() bool { return s.slurm.partition("q") == "INACTIVE" }
		within(t, 3*time.Minute, "protected", closed)
		started := s.place.Started()
		within(t, 2*time.Minute, "ended", func() bool { return len(observe(t, s)) == 0 })
		s.stop() // it outlives the controller
		s.start(t)
		<-time.After(time.Hour)
		if s.place.Started() != started || !closed() || s.count(t, "queue protected ") != 1 {
			t.Errorf("%d instances were started, the partition is %s: %v", s.place.Started(), s.slurm.partition("q"), s.events(t))
		}
		status, err := s.now.Status(t.Context())
		if err != nil || status.Fleet != "protected" || !strings.HasPrefix(status.Why, "queue q: 3 nodes in a row failed to boot; ") {
			t.Errorf("the status is %+v, %v", status, err)
		}
		if other := s.slurm.partition("p"); other != "" {
			t.Errorf("the other partition is %s", other)
		}
		for _, n := range nodeNames("q-dy-r-[1-3]") {
			s.slurm.slow(n, false)
		}
		s.config.Revision = "b" // somebody changed the cluster
		s.stop()
		s.start(t)
		s.jobIs(t, j, "COMPLETED", 10*time.Minute)
	}, nodeNames("q-dy-r-[1-3]", "p-dy-r-1")...)
}

// Each node is asked for once and then needs a person: three are as bad as three failed boots.
func TestRun_protects_a_queue_whose_launches_are_refused(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		for _, n := range nodeNames("q-dy-r-[1-3]") {
			s.place.Fail(n, &provider.LaunchError{Cause: provider.Permission, Code: "UnauthorizedOperation", Message: "no"})
		}
		s.slurm.submitTo("q", 3, time.Minute)
		within(t, 3*time.Minute, "protected", func() bool { return s.slurm.partition("q") == "INACTIVE" })
	}, nodeNames("q-dy-r-[1-3]", "p-dy-r-1")...)
}

func TestRun_is_not_stopped_by_a_node_that_boots_at_last(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		s.slurm.slow("q-dy-r-1", true)
		j := s.slurm.submit(2, time.Minute)
		<-time.After(90 * time.Second)
		s.slurm.slow("q-dy-r-1", false)
		s.jobIs(t, j, "COMPLETED", 10*time.Minute)
		if n := s.kinds(t, "queue protected"); n != 0 {
			t.Errorf("events: %v", s.events(t))
		}
	}, nodeNames("q-dy-r-[1-2]")...)
}

func TestRun_stops_and_starts(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		j := s.slurm.submit(1, 20*time.Minute)
		s.runs(t, j)
		within(t, time.Minute, "up", func() bool { return s.has(t, "q-st-r-") == 1 })
		if err := s.now.Stop(false); err != nil {
			t.Fatal(err)
		}
		waits := s.slurm.submit(1, time.Minute)
		within(t, time.Minute, "static ended", func() bool { return s.has(t, "q-st-r-")+s.has(t, "q-dy-r-") == 1 })
		s.stop()
		s.start(t)
		s.jobIs(t, j, "COMPLETED", 25*time.Minute)
		within(t, time.Minute, "empty", func() bool { return len(observe(t, s)) == 0 })
		<-time.After(time.Hour)
		if got := s.slurm.job(waits).State; got != "PENDING" || len(observe(t, s)) > 0 {
			t.Errorf("the other job is %s, and there is %v", got, observe(t, s))
		}
		if err := s.now.Start(); err != nil {
			t.Fatal(err)
		}
		s.jobIs(t, waits, "COMPLETED", 5*time.Minute)
		within(t, time.Minute, "static up", func() bool { return s.has(t, "q-st-r-") == 1 })
	}, nodeNames("q-st-r-1", "q-dy-r-1")...)
}

func TestRun_stops_at_once(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		j := s.slurm.submit(2, time.Hour)
		s.runs(t, j)
		if err := s.now.Stop(true); err != nil {
			t.Fatal(err)
		}
		within(t, 10*time.Second, "empty", func() bool { return len(observe(t, s)) == 0 })
		if got := s.slurm.job(j); got.State != "PENDING" || got.Restarts != 1 {
			t.Errorf("the job is %s after %d restarts", got.State, got.Restarts)
		}
		if err := s.now.Start(); err != nil {
			t.Fatal(err)
		}
		s.jobIs(t, j, "COMPLETED", 2*time.Hour)
	}, nodeNames("q-dy-r-[1-2]")...)
}

func TestRun_keeps_jobs_off_a_block_that_is_not_active(t *testing.T) {
	var block fleet.Block
	set := func(s *scene) {
		costly(s)
		s.config.Reservations = s.slurm
		asked := 0
		s.config.Blocks = func(context.Context) ([]fleet.Block, error) {
			if asked++; asked%3 == 0 {
				return nil, errors.New("EC2 does not answer")
			}
			b := block
			b.Active = !time.Now().Before(b.Start) && time.Now().Before(b.End)
			return []fleet.Block{b}, nil
		}
		block = fleet.Block{ID: "cr-1", Resource: slurm.Resource{Queue: "q", Name: "r"}, Start: time.Now().Add(time.Hour), End: time.Now().Add(5 * time.Hour)}
	}
	playWith(t, set, func(t *testing.T, s *scene) {
		const theirs = "muster-maintenance" // a user's
		if err := s.slurm.Reserve(t.Context(), theirs, nil); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		j := s.slurm.submit(2, 30*time.Minute)
		<-time.After(50 * time.Minute)
		if s.place.Started() > 0 || s.slurm.job(j).State != "PENDING" {
			t.Errorf("%d instances before the block begins: %v", s.place.Started(), s.events(t))
		}
		s.jobIs(t, j, "COMPLETED", time.Hour)
		<-time.After(time.Until(block.End) - time.Hour)
		long := s.slurm.submit(1, 45*time.Minute)
		s.runs(t, long)
		<-time.After(time.Until(block.End) - 20*time.Minute)
		if n := s.slurm.node(s.slurm.job(long).NodeList); !n.State.Draining() || !strings.HasPrefix(n.Reason, "muster: capacity block cr-1 ends at ") {
			t.Errorf("20 minutes before the end it is %s: %s", n.State, n.Reason)
		}
		if n := len(observe(t, s)); n != 1 {
			t.Errorf("%d instances are left, want the one with the job", n)
		}
		s.jobIs(t, long, "COMPLETED", 20*time.Minute)
		within(t, time.Minute, "ended", func() bool { return len(observe(t, s)) == 0 })
		<-time.After(25 * time.Minute)
		status, err := s.now.Status(t.Context())
		if err != nil || len(status.Look) == 0 || !strings.Contains(strings.Join(status.Look, "; "), "capacity block cr-1 ended at ") {
			t.Errorf("after its end: %+v, %v", status, err)
		}
		if _, kept := s.slurm.reservations[theirs]; !kept {
			t.Errorf("the reservation %s is gone", theirs)
		}
	}, nodeNames("q-st-r-1", "q-dy-r-1")...)
}
