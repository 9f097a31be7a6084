package controller_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/fleet"
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

func nodeNames(lists ...string) []string {
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
		for _, n := range nodeNames("q-dy-r-[1-4]") {
			within(t, 2*time.Minute, n+" back in the pool", func() bool { return s.slurm.state(n).PoweredDown() && !s.slurm.state(n).Down() })
		}
		s.place.Room("q-dy-r-", 4)
		s.jobIs(t, s.slurm.submit(4, time.Minute), "COMPLETED", 5*time.Minute)
	}, nodeNames("q-dy-r-[1-4]", "q-dy-s-[1-4]")...)
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
	}, nodeNames("q-dy-r-[1-50]")...)
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
	}, nodeNames("q-dy-r-[1-8]")...)
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
	}, nodeNames("q-dy-r-[1-3]")...)
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
	}, nodeNames("q-dy-r-[1-2]", "q-dy-s-[1-2]")...)
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

func TestRun_replaces_what_will_not_last(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		j := s.slurm.submit(2, 30*time.Minute)
		s.runs(t, j)
		s.place.SetHealth("q-dy-r-1", provider.HealthEvent{Code: "instance-retirement", NotBefore: time.Now().Add(time.Hour)})
		s.place.SetHealth("q-dy-r-2", provider.HealthEvent{Code: "impaired", Since: time.Now()})
		s.place.SetHealth("q-st-r-1", provider.HealthEvent{Code: "instance-stop", NotBefore: time.Now().Add(14 * 24 * time.Hour)})
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
	}, nodeNames("q-st-r-1", "q-dy-r-[1-2]")...)
}

func TestRun_does_not_wait_for_the_end_of_what_is_due(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		j := s.slurm.submit(1, 3*time.Hour)
		s.runs(t, j)
		s.place.SetHealth("q-dy-r-1", provider.HealthEvent{Code: "instance-retirement", NotBefore: time.Now().Add(time.Hour)})
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
		if a, b := s.slurm.node("q-dy-r-1").Address, s.slurm.node("q-dy-r-100").Address; !strings.HasPrefix(a, "127.1.0.") || !strings.HasPrefix(b, "127.1.0.") || a == b {
			t.Errorf("the addresses are %s and %s", a, b)
		}
		// Once as they start, and perhaps again by a look that began before.
		if s.slurm.addressCalls > 2 {
			t.Errorf("Slurm was told %d times", s.slurm.addressCalls)
		}
		within(t, idleTime+2*time.Minute, "taken back", func() bool { return s.slurm.node("q-dy-r-7").Address == "q-dy-r-7" })
	}, nodeNames("q-dy-r-[1-100]")...)
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
	}, nodeNames("q-dy-r-1", "p-dy-r-[1-2]")...)
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
		registers := func() bool {
			s, err := s.now.Ready(t.Context(), join.Ready{InstanceID: "i-1", Node: "q-dy-r-1", Again: true})
			return err == nil && s.Register
		}
		within(t, 10*time.Second, "to register again while Slurm waits for the node", registers)
		if err := s.now.Failed(t.Context(), join.Failure{InstanceID: "i-1", Step: "mount /fsx", Error: "timeout", LogTail: []string{"last words"}}); err != nil {
			t.Fatal(err)
		}
		within(t, 5*time.Second, "replaced", func() bool { return s.place.Started() == 2 })
		if s.count(t, "boot failed q-dy-r-1") != 1 || s.count(t, "terminate q-dy-r-1") != 1 {
			t.Errorf("events: %v", s.events(t))
		}
		s.slurm.slow("q-dy-r-1", false)
		s.jobIs(t, j, "COMPLETED", 5*time.Minute)
		for _, blind := range []string{"no nvidia-smi", "", "no nvidia-smi"} {
			if _, err := s.now.Ready(t.Context(), join.Ready{InstanceID: "i-2", Node: "q-dy-r-1", Blind: blind}); err != nil {
				t.Fatal(err)
			}
		}
		if s.count(t, "blind q-dy-r-1") != 1 {
			t.Errorf("what a machine could not look at is said %d times: %v", s.count(t, "blind "), s.events(t))
		}
		if registers() {
			t.Error("a node that Slurm knows is to register again")
		}
	}, "q-dy-r-1")
}

func TestRun_says_why_a_queue_is_protected(t *testing.T) {
	playWith(t, func(s *scene) { costly(s); s.config.Limits.Failures = 1 }, func(t *testing.T, s *scene) {
		s.slurm.slow("q-dy-r-1", true)
		s.slurm.submit(1, time.Minute)
		within(t, 10*time.Second, "launched", func() bool { return s.place.Started() == 1 })
		failure := join.Failure{InstanceID: "i-1", Step: "run OnNodeStart", Error: "run OnNodeStart: exit status 7; it printed last: no such package"}
		if err := s.now.Failed(t.Context(), failure); err != nil {
			t.Fatal(err)
		}
		within(t, 5*time.Second, "protected", func() bool { return s.count(t, "queue protected ") == 1 })
		status, err := s.now.Status(t.Context())
		if err != nil || !strings.Contains(status.Why, "1 nodes in a row failed to boot, the last at "+failure.Error+"; ") {
			t.Errorf("the status is %+v, %v", status, err)
		}
	}, "q-dy-r-1")
}

// TestRun_stops_early_where_boots_are_paid: two costly machines that fail alike are enough.
func TestRun_stops_early_where_boots_are_paid(t *testing.T) {
	dear := func(s *scene) {
		costly(s)
		s.config.Limits.Failures = 10
		s.config.Limits.Rates = map[slurm.Resource]fleet.Rate{{Queue: "q", Name: "r"}: {Type: "p5.48xlarge", USD: 55.04}}
	}
	playWith(t, dear, func(t *testing.T, s *scene) {
		s.slurm.slow("q-dy-r-1", true)
		s.slurm.submit(1, time.Minute)
		for i, id := range []string{"i-1", "i-2"} {
			within(t, time.Minute, "launched", func() bool { return s.place.Started() == i+1 })
			f := join.Failure{InstanceID: id, Step: "mount file systems", Error: "mount file systems: mount /home: exit status 32"}
			if err := s.now.Failed(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		within(t, time.Minute, "protected", func() bool { return s.count(t, "queue protected ") == 1 })
		<-time.After(time.Hour)
		status, err := s.now.Status(t.Context())
		want := "queue q: 2 nodes in a row failed to boot in the same way (each try is paid: p5.48xlarge at $55.04 an hour), the last at mount file systems: mount /home: exit status 32; "
		if err != nil || !strings.HasPrefix(status.Why, want) || s.place.Started() > 3 {
			t.Errorf("%d instances were started, and the status is %+v, %v", s.place.Started(), status, err)
		}
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
	}, nodeNames("q-dy-r-[1-2]")...)
}
