package controller_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/join"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

// costly makes the scene a place that costs money.
func costly(s *scene) {
	s.config.Limits = fleet.Limits{Boot: time.Minute, Retry: time.Minute, Short: 10 * time.Minute, Impaired: 3 * time.Minute, Orphan: 5 * time.Minute, Failures: 3}
	s.config.Pace = controller.Pace{Quiet: 10 * time.Second, Eager: time.Second, Observe: 10 * time.Second}
	s.config.Addresses = s.slurm
	s.place.Addressed()
}

func nodes(lists ...string) []string {
	var all []string
	for _, l := range lists {
		n, err := slurm.Expand(l)
		if err != nil {
			panic(err)
		}
		all = append(all, n...)
	}
	return all
}

// has counts the instances of a group of nodes, named without their number.
func (s *scene) has(t *testing.T, group string) int {
	n := 0
	for _, node := range observe(t, s) {
		if strings.TrimRight(node, "0123456789") == group {
			n++
		}
	}
	return n
}

func (s *scene) kinds(t *testing.T, kind string) int {
	n := 0
	for _, e := range s.events(t) {
		if name := e[:strings.LastIndexByte(e, ' ')]; name == kind {
			n++
		}
	}
	return n
}

func TestRun_goes_where_there_is_capacity(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		s.place.Room("q-dy-r-", 2)
		j := s.slurm.submit(3, 5*time.Minute)
		s.runs(t, j)
		if got := s.slurm.job(j); got.NodeList != "q-dy-s-[1-3]" || got.Restarts != 1 {
			t.Errorf("the job runs on %s after %d restarts", got.NodeList, got.Restarts)
		}
		if n := s.place.Started(); n != 3 {
			t.Errorf("%d instances were started for a job of three", n)
		}
		const why = "muster: launch failed, capacity: (Code:InsufficientInstanceCapacity) there is no more of this here"
		if got := s.slurm.node("q-dy-r-1").Reason; got != why {
			t.Errorf("it is down because of %q", got)
		}
		<-time.After(9 * time.Minute)
		if !s.slurm.state("q-dy-r-4").Down() || s.kinds(t, "launch") != 2 {
			t.Errorf("a while later q-dy-r-4 is %s; %v", s.slurm.state("q-dy-r-4"), s.events(t))
		}
		for _, n := range nodes("q-dy-r-[1-4]") {
			within(t, 2*time.Minute, n+" back in the pool", func() bool { return s.slurm.state(n).PoweredDown() && !s.slurm.state(n).Down() })
		}
		s.place.Room("q-dy-r-", 4)
		s.jobIs(t, s.slurm.submit(4, time.Minute), "COMPLETED", 5*time.Minute)
	}, nodes("q-dy-r-[1-4]", "q-dy-s-[1-4]")...)
}

// A thousand nodes that fail for one reason are one word to Slurm and one event.
func TestRun_says_once_why_many_failed(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		s.place.Room("q-dy-r-", 0)
		s.slurm.submit(50, time.Minute)
		within(t, 10*time.Second, "down", func() bool { return s.slurm.state("q-dy-r-7").Down() })
		if n := s.kinds(t, "launch failed"); n != 1 {
			t.Errorf("%d events: %v", n, s.events(t))
		}
	}, nodes("q-dy-r-[1-50]")...)
}

func TestRun_divides_what_there_is(t *testing.T) {
	greedy := func(s *scene) {
		costly(s)
		s.config.Strategy = fleet.GreedyAllOrNothing
	}
	playWith(t, greedy, func(t *testing.T, s *scene) {
		s.place.Room("q-dy-r-", 4)
		s.stop()
		first, second, third := s.slurm.submit(3, time.Hour), s.slurm.submit(3, time.Hour), s.slurm.submit(1, time.Hour)
		<-time.After(5 * time.Second) // Slurm gives nodes to all three at once
		s.start(t)
		s.runs(t, first)
		within(t, time.Minute, "divided", func() bool { return s.has(t, "q-dy-r-") == 4 })
		s.runs(t, third)
		if got := s.slurm.job(second); got.State != "PENDING" || s.place.Started() != 4 {
			t.Errorf("the second is %s, and %d instances were started", got.State, s.place.Started())
		}
		for _, j := range []*slurmJob{first, third} {
			if got := s.slurm.job(j); got.Restarts != 0 {
				t.Errorf("job %d was restarted", got.ID)
			}
		}
	}, nodes("q-dy-r-[1-8]")...)
}

func TestRun_starts_what_there_is_if_told_so(t *testing.T) {
	playWith(t, func(s *scene) { costly(s); s.config.Strategy = fleet.BestEffort }, func(t *testing.T, s *scene) {
		s.place.Room("q-dy-r-", 2)
		s.slurm.submit(3, time.Hour)
		within(t, 10*time.Second, "started", func() bool { return s.has(t, "q-dy-r-") == 2 })
		<-time.After(idleTime - time.Minute)
		if n := s.has(t, "q-dy-r-"); n != 2 {
			t.Errorf("there are %d instances", n)
		}
	}, nodes("q-dy-r-[1-3]")...)
}

func TestRun_gives_back_the_half_of_a_job(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		s.place.Room("q-dy-s-", 1)
		s.slurm.submit(4, time.Hour) // two of r and two of s
		within(t, 10*time.Second, "refused", func() bool { return s.slurm.state("q-dy-s-1").Down() })
		within(t, 5*time.Second, "given back", func() bool { return len(observe(t, s)) == 0 })
		if n := s.count(t, "given back q-dy-r-[1-2]"); n != 1 || s.place.Started() != 2 {
			t.Errorf("%d started, events: %v", s.place.Started(), s.events(t))
		}
		within(t, time.Minute, "back in the pool", func() bool { return s.slurm.state("q-dy-r-1").PoweredDown() && !s.slurm.state("q-dy-r-1").Down() })
	}, nodes("q-dy-r-[1-2]", "q-dy-s-[1-2]")...)
}

func TestRun_asks_again_when_it_asked_too_often(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		s.place.Fail("q-dy-r-1", &provider.LaunchError{Cause: provider.Throttled, Code: "RequestLimitExceeded", Message: "later"})
		j := s.slurm.submit(1, time.Minute)
		<-time.After(60 * time.Second)
		if n := s.kinds(t, "launch"); n < 2 || n > 5 {
			t.Errorf("launched %d times in a minute: %v", n, s.events(t))
		}
		s.place.Fail("q-dy-r-1", nil)
		s.jobIs(t, j, "COMPLETED", 3*time.Minute)
		if n := s.slurm.job(j).Restarts; n != 0 {
			t.Errorf("the job was restarted %d times", n)
		}
	}, "q-dy-r-1")
}

func TestRun_does_not_repeat_what_only_a_person_can_mend(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		s.place.Fail("q-dy-r-1", &provider.LaunchError{Cause: provider.Permission, Code: "UnauthorizedOperation", Message: "no"})
		j := s.slurm.submit(1, time.Minute)
		<-time.After(24 * time.Hour)
		if n := s.kinds(t, "launch"); n != 1 || !s.slurm.state("q-dy-r-1").Down() {
			t.Errorf("launched %d times; it is %s, %s", n, s.slurm.state("q-dy-r-1"), s.slurm.node("q-dy-r-1").Reason)
		}
		s.place.Fail("q-dy-r-1", nil)
		if err := s.now.Start(); err != nil {
			t.Fatal(err)
		}
		s.jobIs(t, j, "COMPLETED", 5*time.Minute)
	}, "q-dy-r-1")
}

func TestRun_protects_a_queue_whose_nodes_do_not_boot(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		s.config.Revision = "a"
		s.stop()
		s.start(t)
		for _, n := range nodes("q-dy-r-[1-3]") {
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
		for _, n := range nodes("q-dy-r-[1-3]") {
			s.slurm.slow(n, false)
		}
		s.config.Revision = "b" // somebody changed the cluster
		s.stop()
		s.start(t)
		s.jobIs(t, j, "COMPLETED", 10*time.Minute)
	}, nodes("q-dy-r-[1-3]", "p-dy-r-1")...)
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
	}, nodes("q-dy-r-[1-2]")...)
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
	}, nodes("q-st-r-1", "q-dy-r-1")...)
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
	}, nodes("q-dy-r-[1-2]")...)
}

func TestRun_replaces_what_will_not_last(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		j := s.slurm.submit(2, 30*time.Minute)
		s.runs(t, j)
		s.place.Doubt("q-dy-r-1", provider.Doubt{Code: "instance-retirement", NotBefore: time.Now().Add(time.Hour)})
		s.place.Doubt("q-dy-r-2", provider.Doubt{Code: "impaired", Since: time.Now()})
		s.place.Doubt("q-st-r-1", provider.Doubt{Code: "instance-stop", NotBefore: time.Now().Add(14 * 24 * time.Hour)})
		before := s.slurm.node("q-st-r-1").Address
		within(t, time.Minute, "replaced", func() bool {
			n := s.slurm.node("q-st-r-1")
			return n.State == slurm.ParseNodeState("IDLE+CLOUD") && n.Address != before && n.Address != n.Name
		})
		within(t, 5*time.Minute, "drained", func() bool { return s.slurm.state("q-dy-r-2").Draining() && s.slurm.state("q-dy-r-1").Draining() })
		s.jobIs(t, j, "COMPLETED", 31*time.Minute)
		if n := s.slurm.job(j).Restarts; n != 0 {
			t.Errorf("the job was restarted %d times", n)
		}
		within(t, time.Minute, "ended", func() bool { return s.has(t, "q-dy-r-") == 0 })
		s.jobIs(t, s.slurm.submit(2, time.Minute), "COMPLETED", 5*time.Minute)
	}, nodes("q-st-r-1", "q-dy-r-[1-2]")...)
}

func TestRun_does_not_wait_for_the_end_of_what_is_due(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		j := s.slurm.submit(1, 3*time.Hour)
		s.runs(t, j)
		s.place.Doubt("q-dy-r-1", provider.Doubt{Code: "instance-retirement", NotBefore: time.Now().Add(time.Hour)})
		<-time.After(59 * time.Minute)
		if n := s.slurm.job(j).Restarts; n != 0 {
			t.Errorf("the job was restarted %d times", n)
		}
		s.jobIs(t, j, "PENDING", 2*time.Minute)
		s.jobIs(t, j, "COMPLETED", 4*time.Hour)
	}, "q-dy-r-1")
}

func TestRun_ends_machines_without_a_node(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		s.place.Orphan()
		<-time.After(4 * time.Minute)
		if len(observe(t, s)) != 1 {
			t.Error("it was ended too soon")
		}
		within(t, 2*time.Minute, "ended", func() bool { return len(observe(t, s)) == 0 })
	}, "q-dy-r-1")
}

func TestRun_tells_addresses(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		j := s.slurm.submit(100, time.Minute)
		s.runs(t, j)
		if a, b := s.slurm.node("q-dy-r-1").Address, s.slurm.node("q-dy-r-100").Address; !strings.HasPrefix(a, "10.0.0.") || !strings.HasPrefix(b, "10.0.0.") || a == b {
			t.Errorf("the addresses are %s and %s", a, b)
		}
		// Once as they start, and perhaps again by a look that began before.
		if s.slurm.addressCalls > 2 {
			t.Errorf("Slurm was told %d times", s.slurm.addressCalls)
		}
		within(t, idleTime+2*time.Minute, "taken back", func() bool { return s.slurm.node("q-dy-r-7").Address == "q-dy-r-7" })
	}, nodes("q-dy-r-[1-100]")...)
}

// A launch that takes long keeps nothing else waiting.
func TestRun_ends_at_once_what_Slurm_does_not_want(t *testing.T) {
	// It does not look at all instances, either.
	playWith(t, func(s *scene) { costly(s); s.config.Pace.Observe = 24 * time.Hour }, func(t *testing.T, s *scene) {
		s.jobIs(t, s.slurm.submitTo("q", 1, time.Second), "COMPLETED", time.Minute)
		s.place.Takes(time.Hour)
		s.slurm.submitTo("p", 2, time.Minute)
		<-time.After(10 * time.Second)
		called := make(chan time.Time, 1)
		s.slurm.programs(func([]string) {}, func([]string) { called <- time.Now(); s.now.Wake() })
		if err := s.slurm.UpdateNodes(t.Context(), []string{"q-dy-r-1"}, "POWER_DOWN", ""); err != nil {
			t.Fatal(err)
		}
		var at time.Time
		select {
		case at = <-called:
		case <-time.After(time.Minute):
			t.Fatal("Slurm does not suspend it")
		}
		within(t, 2*time.Second, "ended", func() bool { return s.place.Living() == 0 })
		if took := time.Since(at); took > 100*time.Millisecond {
			t.Errorf("it took %s from Slurm's call", took)
		}
	}, nodes("q-dy-r-1", "p-dy-r-[1-2]")...)
}

func TestRun_keeps_jobs_off_a_block_that_is_not_active(t *testing.T) {
	var block fleet.Block
	set := func(s *scene) {
		costly(s)
		s.config.Reservations = s.slurm
		s.config.Blocks = func(context.Context) ([]fleet.Block, error) {
			b := block
			b.Active = !time.Now().Before(b.Start) && time.Now().Before(b.End)
			return []fleet.Block{b}, nil
		}
		block = fleet.Block{ID: "cr-1", Resource: fleet.Resource{Queue: "q", Name: "r"}, Start: time.Now().Add(time.Hour), End: time.Now().Add(5 * time.Hour)}
	}
	playWith(t, set, func(t *testing.T, s *scene) {
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
	}, nodes("q-st-r-1", "q-dy-r-1")...)
}

func TestJoin(t *testing.T) {
	playWith(t, func(s *scene) { costly(s); s.config.Cluster, s.config.Head, s.config.Revision = "c", "10.0.0.4", "abc" }, func(t *testing.T, s *scene) {
		s.slurm.slow("q-dy-r-1", true)
		if _, err := s.now.Join(t.Context(), join.Hello{InstanceID: "i-1"}); !errors.Is(err, join.ErrNotYet) {
			t.Errorf("an instance that nobody knows gets %v", err)
		}
		j := s.slurm.submit(1, time.Minute)
		within(t, 10*time.Second, "launched", func() bool { return s.place.Started() == 1 })
		want := join.Place{Node: "q-dy-r-1", Head: "10.0.0.4", Cluster: "c", Revision: "abc"}
		within(t, 100*time.Millisecond, "known", func() bool {
			got, err := s.now.Join(t.Context(), join.Hello{InstanceID: "i-1"})
			return err == nil && got == want
		})
		if err := s.now.Failed(t.Context(), join.Failure{InstanceID: "i-1", Step: "mount /fsx", Error: "timeout", LogTail: []string{"last words"}}); err != nil {
			t.Fatal(err)
		}
		within(t, 5*time.Second, "replaced", func() bool { return s.place.Started() == 2 })
		if s.count(t, "boot failed q-dy-r-1") != 1 || s.count(t, "terminate q-dy-r-1") != 1 {
			t.Errorf("events: %v", s.events(t))
		}
		s.slurm.slow("q-dy-r-1", false)
		s.jobIs(t, j, "COMPLETED", 5*time.Minute)
	}, "q-dy-r-1")
}

func TestRun_looks_seldom(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		j := s.slurm.submit(2, 2*time.Hour)
		s.runs(t, j)
		before := s.place.Looks()
		<-time.After(time.Hour)
		// The model of Slurm looks once a second.
		if n := s.place.Looks() - before - 3600; n < 300 || n > 400 {
			t.Errorf("it looked %d times in an hour", n)
		}
	}, nodes("q-dy-r-[1-2]")...)
}

func TestRun_a_day_that_costs(t *testing.T) {
	all := nodes("q-st-r-1", "q-dy-r-[1-4]", "q-dy-s-[1-4]")
	for seed, strategy := range []fleet.Strategy{fleet.AllOrNothing, fleet.GreedyAllOrNothing, fleet.BestEffort} {
		t.Run(string(strategy), func(t *testing.T) {
			playWith(t, func(s *scene) { costly(s); s.config.Strategy = strategy }, func(t *testing.T, s *scene) {
				r := rand.New(rand.NewPCG(uint64(seed), 9))
				var jobs []*slurmJob
				for range 120 {
					<-time.After(time.Duration(r.IntN(1000)) * time.Second)
					s.trouble(t, r, all[r.IntN(len(all))])
					jobs = append(jobs, s.slurm.submit(1+r.IntN(4), time.Duration(r.IntN(900))*time.Second))
				}
				s.place.Room("q-dy-r-", 4)
				s.place.Room("q-dy-s-", 4)
				for _, n := range all {
					s.place.Fail(n, nil)
					s.place.Doubt(n)
				}
				if err := s.now.Start(); err != nil {
					t.Fatal(err)
				}
				<-time.After(12 * time.Hour)
				s.allIsWell(t, jobs, all[1:])
			}, all...)
		})
	}
}

// trouble is something that goes wrong, or not.
func (s *scene) trouble(t *testing.T, r *rand.Rand, node string) {
	t.Helper()
	group := strings.TrimRight(node, "0123456789")
	switch r.IntN(10) {
	case 0:
		s.place.Kill(node)
	case 1:
		s.place.KillUnheard(node)
	case 2:
		s.place.Room(group, r.IntN(5))
	case 3:
		codes := []string{"impaired", "instance-retirement", "instance-stop", "system-reboot"}
		s.place.Doubt(node, provider.Doubt{Code: codes[r.IntN(4)], Since: time.Now(), NotBefore: time.Now().Add(time.Duration(r.IntN(3600)) * time.Second)})
	case 4:
		s.place.Orphan()
	case 5:
		cause := []provider.Cause{provider.Throttled, provider.Unknown, provider.Limit}[r.IntN(3)]
		s.place.Fail(node, &provider.LaunchError{Cause: cause, Code: "X"})
	case 6:
		s.place.Fail(node, nil)
	case 7:
		s.stop()
		<-time.After(time.Duration(r.IntN(20)) * time.Second)
		s.start(t)
	case 8:
		s.place.Takes(time.Duration(r.IntN(20)) * time.Second)
	}
}

// allIsWell holds what is true when all trouble is over.
func (s *scene) allIsWell(t *testing.T, jobs []*slurmJob, dynamic []string) {
	t.Helper()
	for _, j := range jobs {
		if got := s.slurm.job(j); got.State != "COMPLETED" {
			t.Errorf("job %d is %s on %s after %d restarts", got.ID, got.State, got.NodeList, got.Restarts)
		}
	}
	if left := observe(t, s); !slices.Equal(left, []string{"q-st-r-1"}) {
		t.Errorf("in the end there is %v", left)
	}
	for _, n := range dynamic {
		if !s.slurm.state(n).PoweredDown() || s.slurm.state(n).Down() {
			t.Errorf("in the end %s is %s: %s", n, s.slurm.state(n), s.slurm.node(n).Reason)
		}
		if a := s.slurm.node(n).Address; a != n {
			t.Errorf("in the end Slurm looks for %s at %s", n, a)
		}
	}
}
