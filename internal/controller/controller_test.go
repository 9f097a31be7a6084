package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/provider/providertest"
	"github.com/muster-hpc/muster/internal/slurm"
)

var limits = fleet.Limits{Boot: time.Minute, Retry: time.Minute}

// scene is a cluster in memory.
type scene struct {
	place *providertest.Fake
	// fleet is the place, unless the scene has another.
	fleet provider.Provider
	slurm *slurmctld
	file  string
	log   strings.Builder
	// config is what the next controller is made with, beside what every one has.
	config controller.Config
	// stop ends the controller that runs, and waits for it.
	stop func()
	now  *controller.Controller
}

// play runs f in a bubble of time, with Slurm and a controller at work.
func play(t *testing.T, f func(*testing.T, *scene), nodes ...string) {
	playWith(t, func(*scene) {}, f, nodes...)
}

// playWith is play with a scene that was changed before it begins.
func playWith(t *testing.T, set func(*scene), f func(*testing.T, *scene), nodes ...string) {
	playIn(t, func(_ *testing.T, s *scene) { set(s) }, f, nodes...)
}

// playIn is playWith where the scene is changed inside the bubble.
func playIn(t *testing.T, set, f func(*testing.T, *scene), nodes ...string) {
	synctest.Test(t, func(t *testing.T) {
		place := providertest.New(nodes...)
		s := &scene{place: place, fleet: place, slurm: newSlurm(place, nodes...), file: filepath.Join(t.TempDir(), "events.jsonl")}
		s.config.Limits, s.config.State = limits, filepath.Join(t.TempDir(), "fleet.json")
		set(t, s)
		go s.slurm.run(t.Context())
		s.start(t)
		f(t, s)
		s.stop()
	})
}

// start starts a controller, after the one before it if there was one.
func (s *scene) start(t *testing.T) {
	events, err := controller.OpenEvents(s.file)
	if err != nil {
		t.Fatal(err)
	}
	config := s.config
	config.Fleet, config.Slurm, config.Jobs, config.Partitions, config.Events = s.fleet, s.slurm, s.slurm, s.slurm, events
	config.Log = slog.New(slog.NewTextHandler(&s.log, nil))
	c := controller.New(config)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		_ = c.Run(ctx)
		close(done)
	}()
	s.now, s.stop = c, func() {
		cancel()
		<-done
		events.Close()
	}
	s.slurm.programs(func(nodes []string) { c.Resume(nodes, s.slurm.pending(nodes)) }, func([]string) { c.Wake() })
}

// events are the lines written so far, as "kind nodes".
func (s *scene) events(t *testing.T) []string {
	data, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(data)) {
		var e controller.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Kind+" "+e.List)
	}
	return all
}

func (s *scene) count(t *testing.T, event string) int {
	n := 0
	for _, e := range s.events(t) {
		if e == event {
			n++
		}
	}
	return n
}

// within waits until something is true, and says how long that took.
func within(t *testing.T, limit time.Duration, what string, f func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !f() {
		if time.Since(began) > limit {
			t.Fatalf("not %s within %s", what, limit)
		}
		<-time.After(10 * time.Millisecond)
	}
	return time.Since(began)
}

func (s *scene) jobIs(t *testing.T, j *slurmJob, state string, limit time.Duration) time.Duration {
	t.Helper()
	return within(t, limit, state, func() bool { return s.slurm.job(j).State == state })
}

func (s *scene) runs(t *testing.T, j *slurmJob) {
	t.Helper()
	within(t, time.Minute, "running", func() bool {
		s.slurm.mu.Lock()
		defer s.slurm.mu.Unlock()
		return j.State == "RUNNING" && j.started
	})
}

func TestRun_starts_what_a_job_wants_and_ends_it_when_idle(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		j := s.slurm.submit(2, time.Minute)
		s.jobIs(t, j, "COMPLETED", 65*time.Second)
		within(t, idleTime+10*time.Second, "powered down", func() bool { return s.slurm.state("q-dy-r-1").PoweredDown() })
		within(t, 10*time.Second, "ended", func() bool { return len(observe(t, s)) == 0 })
		if n := s.place.Started(); n != 2 {
			t.Errorf("%d instances were started for two nodes", n)
		}
	}, "q-dy-r-1", "q-dy-r-2", "q-dy-r-3")
}

func TestRun_keeps_static_nodes_on(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		up := func() bool { return s.slurm.state("q-st-r-1") == slurm.ParseNodeState("IDLE+CLOUD") }
		within(t, 10*time.Second, "up", up)
		<-time.After(24 * time.Hour)
		if !up() || s.place.Started() != 1 {
			t.Errorf("after a day it is %s, and %d instances were started", s.slurm.state("q-st-r-1"), s.place.Started())
		}
		s.place.Kill("q-st-r-1")
		within(t, 20*time.Second, "replaced", func() bool { return s.place.Started() == 2 && up() })
	}, "q-st-r-1")
}

func TestRun_finds_lost_requests(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.slurm.programs(func([]string) {}, func([]string) {})
		s.jobIs(t, s.slurm.submit(1, time.Second), "COMPLETED", 15*time.Second)
		within(t, idleTime+20*time.Second, "ended", func() bool { return len(observe(t, s)) == 0 })
	}, "q-dy-r-1")
}

func TestRun_does_not_mind_late_requests(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		c := s.now
		s.slurm.programs(func(nodes []string) {
			c.Wake()
			go func() { <-time.After(8 * time.Second); c.Resume(nodes, nil) }()
		}, func([]string) {})
		s.slurm.slow("q-dy-r-1", true)
		s.slurm.submit(1, time.Minute)
		<-time.After(30 * time.Second)
		if n := s.place.Started(); n != 1 {
			t.Errorf("%d instances were started: the request came after the launch", n)
		}
	}, "q-dy-r-1")
}

func TestRun_waits_for_a_slurm_that_does_not_answer(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		j := s.slurm.submit(2, 20*time.Minute)
		s.runs(t, j)
		s.slurm.silence(errors.New("slurmctld does not answer"))
		before := len(s.events(t))
		s.place.Kill("q-dy-r-1")
		<-time.After(5 * time.Minute)
		if now := s.events(t); len(now) != before+1 || now[before] != "ended q-dy-r-1" {
			t.Errorf("meanwhile: %v", now[before:])
		}
		s.slurm.silence(nil)
		s.jobIs(t, j, "PENDING", 5*time.Second)
		s.jobIs(t, j, "COMPLETED", 25*time.Minute)
		if log := s.log.String(); strings.Count(log, "round failed") != 1 || strings.Count(log, "rounds succeed again") != 1 {
			t.Errorf("the log says:\n%s", log)
		}
	}, "q-dy-r-1", "q-dy-r-2")
}

func TestRun_decides_nothing_on_half_a_picture(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		j := s.slurm.submit(1, time.Hour)
		s.runs(t, j)
		s.place.Silence(errors.New("the place does not answer"))
		<-time.After(5 * time.Minute)
		s.place.Silence(nil)
		s.slurm.mu.Lock()
		nodes := s.slurm.nodes
		s.slurm.nodes = nil // as of a slurmctld that has yet to read its files
		s.slurm.mu.Unlock()
		s.now.Wake()
		synctest.Wait()
		s.slurm.mu.Lock()
		s.slurm.nodes = nodes
		s.slurm.mu.Unlock()
		s.jobIs(t, j, "COMPLETED", time.Hour)
		if s.slurm.job(j).Restarts != 0 || s.place.Started() != 1 {
			t.Errorf("the job was restarted, or %d instances were started: %v", s.place.Started(), s.events(t))
		}
	}, "q-dy-r-1")
}

func TestRun_tells_once_what_it_tries_again(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		j := s.slurm.submit(3, 2*time.Hour)
		s.runs(t, j)
		deaf := func(err error) {
			s.slurm.mu.Lock()
			s.slurm.deaf = err
			s.slurm.mu.Unlock()
		}
		deaf(errors.New("slurmctld is in standby mode"))
		for _, n := range []string{"q-dy-r-1", "q-dy-r-2", "q-dy-r-3"} {
			s.place.Kill(n)
		}
		<-time.After(time.Hour)
		deaf(nil)
		s.jobIs(t, j, "COMPLETED", 3*time.Hour)
		for event, want := range map[string]int{"ended q-dy-r-[1-3]": 1, "set down q-dy-r-[1-3]": 1, "launch q-dy-r-[1-3]": 2} {
			if got := s.count(t, event); got != want {
				t.Errorf("%q %d times, want %d: %v", event, got, want, s.events(t))
			}
		}
	}, "q-dy-r-1", "q-dy-r-2", "q-dy-r-3")
}

func TestRun_tries_a_failed_launch_again_later(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.place.Fail("q-dy-r-1", errors.New("no capacity"))
		j := s.slurm.submit(1, time.Second)
		within(t, 10*time.Second, "down", func() bool { return s.slurm.state("q-dy-r-1").Down() })
		if got, want := s.slurm.node("q-dy-r-1").Reason, "muster: launch failed: no capacity"; got != want {
			t.Errorf("the node is down because of %q, want %q", got, want)
		}
		<-time.After(limits.Retry - 10*time.Second)
		if n := s.count(t, "launch q-dy-r-1"); n != 1 {
			t.Errorf("launched %d times before it was time: %v", n, s.events(t))
		}
		s.place.Fail("q-dy-r-1", nil)
		s.jobIs(t, j, "COMPLETED", time.Minute)
	}, "q-dy-r-1")
}

func TestRun_adopts_what_an_earlier_controller_started(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		j := s.slurm.submit(2, time.Hour)
		within(t, 10*time.Second, "launched", func() bool { return s.place.Started() == 2 })
		s.stop() // before they registered
		s.start(t)
		s.runs(t, j)
		s.stop()
		s.place.KillUnheard("q-dy-r-2")
		s.start(t)
		s.jobIs(t, j, "PENDING", 10*time.Second)
		s.jobIs(t, j, "COMPLETED", 2*time.Hour)
		if n := s.place.Started(); n != 3 {
			t.Errorf("%d instances were started, want 2 and a replacement", n)
		}
	}, "q-dy-r-1", "q-dy-r-2")
}

func TestRun_ends_what_is_left_over(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.jobIs(t, s.slurm.submit(1, time.Second), "COMPLETED", 10*time.Second)
		s.stop() // while the node is powered down and up again
		within(t, idleTime+time.Minute, "powered down", func() bool { return s.slurm.state("q-dy-r-1").PoweredDown() })
		j := s.slurm.submit(1, time.Second)
		<-time.After(5 * time.Second)
		s.start(t)
		s.jobIs(t, j, "COMPLETED", 10*time.Second)
		if n := s.place.Started(); n != 2 {
			t.Errorf("%d instances were started, want one for each power-up", n)
		}
	}, "q-dy-r-1")
}

func TestRun_gives_jobs_to_nodes_again_that_are_off_and_silent(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.slurm.mute("q-dy-r-1")
		s.jobIs(t, s.slurm.submit(1, time.Second), "COMPLETED", time.Minute)
		told := slices.DeleteFunc(s.events(t), func(e string) bool { return e != "power down q-dy-r-1" })
		if len(told) != 1 {
			t.Errorf("told %v, want one event", s.events(t))
		}
	}, "q-dy-r-1")
}

func TestRun_lets_jobs_end_on_nodes_that_are_to_be_powered_down(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		j := s.slurm.submit(1, time.Hour)
		s.runs(t, j)
		if err := s.slurm.UpdateNodes(t.Context(), []string{"q-dy-r-1"}, "POWER_DOWN", ""); err != nil {
			t.Fatal(err)
		}
		s.jobIs(t, j, "COMPLETED", time.Hour)
		within(t, 10*time.Second, "ended", func() bool { return len(observe(t, s)) == 0 })
		if n := s.slurm.job(j).Restarts; n != 0 {
			t.Errorf("the job was restarted %d times", n)
		}
	}, "q-dy-r-1")
}

func TestRun_requeues_a_script_that_failed_of_a_loss(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		j := s.slurm.submit(2, time.Minute)
		s.runs(t, j)
		<-time.After(3 * time.Second)
		s.stop()
		s.place.KillUnheard("q-dy-r-2")
		s.slurm.scriptFails(j)
		s.start(t)
		s.jobIs(t, j, "PENDING", 5*time.Second)
		s.runs(t, j)
		s.slurm.scriptFails(j) // now by itself
		<-time.After(5 * time.Minute)
		if got := s.slurm.job(j); got.State != "FAILED" || got.Restarts != 1 {
			t.Errorf("the job is %s after %d restarts, want it failed after one", got.State, got.Restarts)
		}
		if n := s.count(t, "requeue q-dy-r-2"); n != 1 {
			t.Errorf("events: %v", s.events(t))
		}
	}, "q-dy-r-1", "q-dy-r-2")
}

func TestRun_a_day(t *testing.T) {
	nodes := []string{"q-st-r-1", "q-dy-r-1", "q-dy-r-2", "q-dy-r-3", "q-dy-r-4"}
	play(t, func(t *testing.T, s *scene) {
		r := rand.New(rand.NewPCG(1, 2))
		var jobs []*slurmJob
		for range 150 {
			<-time.After(time.Duration(r.IntN(1000)) * time.Second)
			switch r.IntN(6) {
			case 0:
				s.place.Kill(nodes[r.IntN(len(nodes))])
			case 1:
				s.place.KillUnheard(nodes[r.IntN(len(nodes))])
			case 2:
				s.stop()
				<-time.After(time.Duration(r.IntN(20)) * time.Second)
				s.start(t)
			case 3:
				s.slurm.silence(errors.New("no answer"))
				<-time.After(time.Duration(r.IntN(60)) * time.Second)
				s.slurm.silence(nil)
			}
			jobs = append(jobs, s.slurm.submit(1+r.IntN(4), time.Duration(r.IntN(900))*time.Second))
		}
		<-time.After(6 * time.Hour)
		for _, j := range jobs {
			if got := s.slurm.job(j); got.State != "COMPLETED" {
				t.Errorf("job %d is %s on %s after %d restarts", got.ID, got.State, got.NodeList, got.Restarts)
			}
		}
		if left := observe(t, s); len(left) != 1 || left[0] != "q-st-r-1" {
			t.Errorf("in the end there is %v", left)
		}
		for _, n := range nodes[1:] {
			if !s.slurm.state(n).PoweredDown() {
				t.Errorf("in the end %s is %s: %s", n, s.slurm.state(n), s.slurm.node(n).Reason)
			}
		}
	}, nodes...)
}
