package controller

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

// lackingPlace is a place that has no instance for some nodes, and can give the
// instances of others to them.
type lackingPlace struct {
	provider.Provider
	lacks         []string
	noMove, noEnd error
	moved         map[string]string
	ended         []string
}

func (p *lackingPlace) Launch(context.Context, []provider.Order, func([]provider.Instance)) map[string]error {
	out := map[string]error{}
	for _, n := range p.lacks {
		out[n] = errors.New("no capacity")
	}
	return out
}

func (p *lackingPlace) Move(_ context.Context, moves map[string]string) error {
	p.moved = moves
	return p.noMove
}

func (p *lackingPlace) Terminate(_ context.Context, nodes []string) error {
	p.ended = append(p.ended, nodes...)
	return p.noEnd
}

// TestCarryOut_keeps_no_instance_that_no_job_can_use: what a job got that lacks other
// nodes goes to the next job, or ends at once.
func TestCarryOut_keeps_no_instance_that_no_job_can_use(t *testing.T) {
	two := []fleet.PendingJob{{Job: 1, Nodes: []string{"n1", "n2"}}, {Job: 2, Nodes: []string{"n3", "n4"}}}
	for _, row := range []struct {
		name     string
		strategy fleet.Strategy
		place    lackingPlace
		ended    []string
		moved    map[string]string
		lacking  []string
		log      string
	}{
		{name: "all_are_there", strategy: fleet.AllOrNothing},
		{name: "one_lacks", strategy: fleet.AllOrNothing, place: lackingPlace{lacks: []string{"n2"}}, ended: []string{"n1"}, lacking: []string{"n2"}},
		{name: "best_effort", strategy: fleet.BestEffort, place: lackingPlace{lacks: []string{"n2"}}, lacking: []string{"n2"}},
		{
			name: "another_jobs", strategy: fleet.GreedyAllOrNothing, place: lackingPlace{lacks: []string{"n2", "n4"}},
			moved: map[string]string{"n3": "n2"}, lacking: []string{"n4"},
		},
		{
			name: "another_jobs_not_moved", strategy: fleet.GreedyAllOrNothing, place: lackingPlace{lacks: []string{"n2", "n4"}, noMove: errors.New("no answer")},
			moved: map[string]string{"n3": "n2"}, ended: []string{"n1", "n3"}, lacking: []string{"n2", "n4"}, log: "instances were not given to other nodes",
		},
		{
			name: "not_ended", strategy: fleet.AllOrNothing, place: lackingPlace{lacks: []string{"n2"}, noEnd: errors.New("no answer")},
			ended: []string{"n1"}, lacking: []string{"n2"}, log: "instances that no job can use were not ended",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var log strings.Builder
			c := New(Config{Fleet: &row.place, Strategy: row.strategy, Log: slog.New(slog.NewTextHandler(&log, nil))})
			order := provider.Order{Resource: slurm.Resource{Queue: "q", Name: "r"}, Nodes: []string{"n1", "n2", "n3", "n4"}}
			var there []provider.Instance
			for _, n := range order.Nodes {
				if !slices.Contains(row.place.lacks, n) {
					there = append(there, provider.Instance{ID: "i-" + n, Node: n})
				}
			}
			c.registry.started(there)
			l := c.carryOut(t.Context(), []provider.Order{order}, two)
			if got := slices.Sorted(maps.Keys(l.lacking)); !slices.Equal(got, row.lacking) {
				t.Errorf("%q lack instances, want %q", got, row.lacking)
			}
			if !slices.Equal(row.place.ended, row.ended) || !maps.Equal(row.place.moved, row.moved) {
				t.Errorf("ended %q, want %q; moved %v, want %v", row.place.ended, row.ended, row.place.moved, row.moved)
			}
			if got := log.String(); (got != "") != (row.log != "") || !strings.Contains(got, row.log) {
				t.Errorf("logged %q, want %q", got, row.log)
			}
		})
	}
}

func TestPause_is_quiet_while_nobody_waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pace, now := Pace{Eager: 1, Quiet: 1000}, time.Now()
		for _, row := range []struct {
			name  string
			set   func(*Controller)
			acted bool
			err   error
			want  time.Duration
		}{
			{"nothing", func(*Controller) {}, false, nil, pace.Quiet},
			{"acted", func(*Controller) {}, true, nil, busyEvery},
			{"failed", func(*Controller) {}, true, errors.New("no"), retryAfter},
			{"awaited", func(c *Controller) { c.waiters[&waiter{}] = true }, false, nil, pace.Eager},
			{"after_a_loss", func(c *Controller) { c.losses = []fleet.Loss{{Noticed: now}} }, false, nil, busyEvery},
			{"long_after_a_loss", func(c *Controller) { c.losses = []fleet.Loss{{Noticed: now.Add(-lossFresh)}} }, false, nil, pace.Quiet},
			{"before_a_launch", func(c *Controller) { c.pauses.until = map[string]time.Time{"n": now.Add(999)} }, false, nil, 999},
			{"at_a_launch", func(c *Controller) { c.pauses.until = map[string]time.Time{"n": now} }, false, nil, pace.Quiet},
		} {
			c := New(Config{Pace: pace})
			row.set(c)
			if got := c.pause(row.acted, row.err); got != row.want {
				t.Errorf("%s: %s, want %s", row.name, got, row.want)
			}
		}
	})
}

// TestPauses_grow_and_are_forgotten: launches that came too often wait longer each time.
func TestPauses_grow_and_are_forgotten(t *testing.T) {
	var p pauses
	now := time.Now()
	node := nodesOf("r", "n")
	for i, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute} {
		now = now.Add(2 * pauseMost)
		p.add(now, append(node, nodesOf("r", "m")...))
		if got := p.until["n"].Sub(now); got != want || p.until["m"] != p.until["n"] {
			t.Errorf("pause %d is %s, want %s", i, got, want)
		}
	}
	now = now.Add(2*pauseMost + 1)
	if p.add(now, node); p.until["n"].Sub(now) != pauseFirst {
		t.Errorf("after a long time the pause is %s", p.until["n"].Sub(now))
	}
	if p.keep(map[string]bool{"n": true}); len(p.until) != 1 {
		t.Errorf("pauses are left for %v", p.until)
	}
}

// TestStarted_tells_where_nodes_answer, as soon as both are known.
func TestStarted_tells_where_nodes_answer(t *testing.T) {
	c := New(Config{Addresses: &switchboard{}})
	at := netip.MustParseAddr("10.0.0.1")
	c.started([]provider.Instance{{ID: "i-1", Node: "n1", Address: at}, {ID: "i-2", Address: at}, {ID: "i-3", Node: "n3"}})
	if want := map[string]string{"n1": "10.0.0.1"}; !maps.Equal(c.toTell, want) {
		t.Errorf("Slurm is told %v, want %v", c.toTell, want)
	}
}
