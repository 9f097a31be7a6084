package controller

import (
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

// nodeOf is a node of Slurm's in fleet's words. Its first feature says whether it
// is static; others may have any name.
func nodeOf(n slurm.Node) fleet.Node {
	return fleet.Node{
		Name: n.Name, Resource: n.Resource(), Static: slices.Index(n.Features, "static") == 0, State: stateOf(n),
		Closed: n.State.Down() || n.State.Draining(), Reason: n.Reason, ReasonTime: n.ReasonTime,
		Busy: n.State.Busy(), Silent: n.State.Has(slurm.FlagNotResponding), Address: n.Address,
	}
}

// stateOf reads the flags in the order in which they count. A request is only
// that: slurmctld does not count a registration as the end of a power-up that it
// has not begun, and lets jobs end before it powers their nodes down.
func stateOf(n slurm.Node) fleet.State {
	s := n.State
	switch {
	case s.Has(slurm.FlagPoweringDown):
		return fleet.PoweringDown
	case s.Down() && s.Has(slurm.FlagPowerDownRequested):
		return fleet.Asked
	case s.Down() && n.Reason != "":
		return fleet.Down // also of a node that is powered down, as after ResumeTimeout
	case s.PoweredDown() && (s.Has(slurm.FlagPowerUpRequested) || s.Busy()):
		return fleet.Asked
	case s.Has(slurm.FlagPoweredDown | slurm.FlagPowerDownRequested | slurm.FlagNotResponding):
		return fleet.Asked // it is off, and to be powered down for what Slurm has noted
	case s.PoweredDown():
		return fleet.PoweredDown
	case s.Has(slurm.FlagPoweringUp):
		return fleet.PoweringUp
	case s.Has(slurm.FlagPowerUpRequested), s.Has(slurm.FlagPowerDownRequested) && !s.Busy():
		return fleet.Asked
	case s.Down():
		return fleet.Down
	}
	return fleet.Up
}

// strand says of nodes since when they are stranded; the earlier looks are in since.
func strand(nodes []fleet.Node, stranded map[string]bool, since map[string]time.Time, now time.Time) {
	for i, n := range nodes {
		if !stranded[n.Name] {
			delete(since, n.Name)
			continue
		}
		if since[n.Name].IsZero() {
			since[n.Name] = now
		}
		nodes[i].Stranded = since[n.Name]
	}
}

// isStranded tells whether a node has a job and is off, and Slurm has not asked for it.
func isStranded(s slurm.NodeState) bool {
	return s.PoweredDown() && s.Busy() && !s.Down() && !s.PoweringUp() && !s.PoweringDown()
}
