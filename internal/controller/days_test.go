package controller_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
)

func TestRun_a_day_that_costs(t *testing.T) {
	all := nodeNames("q-st-r-1", "q-dy-r-[1-4]", "q-dy-s-[1-4]")
	for seed, strategy := range []fleet.Strategy{fleet.AllOrNothing, fleet.GreedyAllOrNothing, fleet.BestEffort} {
		t.Run(string(strategy), func(t *testing.T) {
			playWith(t, func(s *scene) { costly(s); s.config.Strategy = strategy }, func(t *testing.T, s *scene) {
				r := rand.New(rand.NewPCG(uint64(seed), 9))
				var jobs []*slurmJob
				for range 60 {
					<-time.After(time.Duration(r.IntN(1000)) * time.Second)
					s.trouble(t, r, all[r.IntN(len(all))])
					jobs = append(jobs, s.slurm.submit(1+r.IntN(4), time.Duration(r.IntN(900))*time.Second))
				}
				s.place.Room("q-dy-r-", 4)
				s.place.Room("q-dy-s-", 4)
				for _, n := range all {
					s.place.Fail(n, nil)
					s.place.SetHealth(n)
				}
				if err := s.now.Start(); err != nil {
					t.Fatal(err)
				}
				<-time.After(12 * time.Hour)
				s.allIsWell(t, jobs, all[:1], all[1:])
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
		s.place.SetHealth(node, provider.HealthEvent{Code: codes[r.IntN(4)], Since: time.Now(), NotBefore: time.Now().Add(time.Duration(r.IntN(3600)) * time.Second)})
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
func (s *scene) allIsWell(t *testing.T, jobs []*slurmJob, static, dynamic []string) {
	t.Helper()
	for _, j := range jobs {
		if got := s.slurm.job(j); got.State != "COMPLETED" {
			t.Errorf("job %d is %s on %s after %d restarts", got.ID, got.State, got.NodeList, got.Restarts)
		}
	}
	if left := observe(t, s); !slices.Equal(left, static) {
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

func observe(t *testing.T, s *scene) []string {
	instances, err := s.fleet.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range instances {
		names = append(names, i.Node)
	}
	return names
}
