package controller

import (
	"maps"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

// pauses pace launches that the provider answered with: not so often.
type pauses struct {
	// until says when a node may be launched again, strikes how often in a row its
	// resource was asked for too often.
	until   map[string]time.Time
	strikes map[slurm.Resource]int
	last    map[slurm.Resource]time.Time
}

// The pause after the first refusal, and the longest. EC2 lets a caller start
// two instances in a second when it has used up its first thousand.
const (
	pauseFirst = 5 * time.Second
	pauseMost  = time.Minute
)

// add lets nodes wait, longer each time.
func (p *pauses) add(now time.Time, nodes []fleet.Node) {
	if p.until == nil {
		p.until, p.strikes, p.last = map[string]time.Time{}, map[slurm.Resource]int{}, map[slurm.Resource]time.Time{}
	}
	struck := map[slurm.Resource]bool{}
	for _, n := range nodes {
		if !struck[n.Resource] {
			if now.Sub(p.last[n.Resource]) > 2*pauseMost {
				p.strikes[n.Resource] = 0
			}
			struck[n.Resource], p.last[n.Resource] = true, now
			p.strikes[n.Resource]++
		}
		wait := pauseFirst << min(p.strikes[n.Resource]-1, 4)
		p.until[n.Name] = now.Add(min(wait, pauseMost))
	}
}

// keep forgets nodes that are not on their way up any more.
func (p *pauses) keep(rising map[string]bool) {
	maps.DeleteFunc(p.until, func(n string, _ time.Time) bool { return !rising[n] })
}

// next is the time until a node may be launched again, at most a limit.
func (p *pauses) next(now time.Time, limit time.Duration) time.Duration {
	for _, at := range p.until {
		if wait := at.Sub(now); wait > 0 && wait < limit {
			limit = wait
		}
	}
	return limit
}
