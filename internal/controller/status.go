package controller

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Status is a look at Slurm and the fleet. The services are for others to add where it does not know them.
func (c *Controller) Status(ctx context.Context) (manifest.ClusterStatus, error) {
	nodes, err := c.Slurm.Nodes(ctx)
	if err != nil {
		return manifest.ClusterStatus{}, fmt.Errorf("ask Slurm for its nodes: %w", err)
	}
	jobs, _, err := c.Jobs.Jobs(ctx)
	if err != nil {
		return manifest.ClusterStatus{}, fmt.Errorf("ask Slurm for its jobs: %w", err)
	}
	status := manifest.ClusterStatus{Nodes: map[string]int{}, Jobs: map[string]int{}}
	status.Fleet, status.Why = c.desired.get().word()
	for _, n := range nodes {
		status.Nodes[n.State.Long()]++
	}
	status.Static = staticNodes(nodes)
	for _, j := range jobs {
		status.Jobs[strings.ToLower(j.State)]++
	}
	status.Look = append(c.troubles(), outOfService(nodes)...)
	status.Exports = exported(c.Exports)
	if c.Services != nil {
		status.Services = c.Services()
	}
	return status, nil
}

// exported is how far the exports are, as far as it changes when something happens.
func exported(e *Exports) []manifest.Exported {
	if e == nil {
		return nil
	}
	var all []manifest.Exported
	for _, s := range e.Told() {
		if !s.Export {
			continue
		}
		x := manifest.Exported{
			Path: s.Path, Bucket: s.Bucket, Prefix: s.Prefix, Pending: s.Pending, PendingBytes: s.PendingBytes, Blocked: s.Blocked,
			Unknown: s.PendingUnknown, WaitsSince: s.WaitsSince, Looked: s.LastLook, Exported: s.Exported, Error: s.Error,
		}
		if len(s.BlockedFiles) > 0 {
			x.First = s.BlockedFiles[0].Path + ": " + s.BlockedFiles[0].Reason
		}
		all = append(all, x)
	}
	return all
}

// staticNodes are how many of the nodes that are always on answer, and what the others
// are.
func staticNodes(nodes []slurm.Node) *manifest.StaticNodes {
	s := &manifest.StaticNodes{}
	missing := map[string][]string{}
	for _, n := range nodes {
		f := nodeOf(n)
		if !f.Static {
			continue
		}
		s.Want++
		switch {
		case f.State == fleet.Up && !f.Silent && !n.State.Down():
			s.Ready++
		case f.State == fleet.PoweredDown && n.State.Has(slurm.FlagMaintenance):
			s.Later = append(s.Later, n.Name) // the controller holds them in a reservation
		default:
			what := strings.TrimSuffix(staticWords[f.State]+": "+n.Reason, ": ")
			missing[what] = append(missing[what], n.Name)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(missing)) {
		s.Missing = append(s.Missing, slurm.Compress(missing[what])+" "+what)
	}
	return s
}

// staticWords say of a node that does not answer what goes on with it.
var staticWords = map[fleet.State]string{
	fleet.PoweredDown: "not started yet", fleet.Asked: "about to be launched", fleet.PoweringUp: "on the way up", fleet.PoweringDown: "ending",
	fleet.Down: "down", fleet.Up: "does not answer",
}

// word is the fleet's state, and why it is not running.
func (s DesiredState) word() (state, why string) {
	if s.Stopped != nil {
		return "stopped", "stopped at " + s.Stopped.Since.UTC().Format("2006-01-02 15:04 MST") + "; `muster fleet start` lets it run"
	}
	var all []string
	for _, q := range slices.Sorted(maps.Keys(s.Protected)) {
		all = append(all, "queue "+q+": "+s.Protected[q].Why)
	}
	if len(all) > 0 {
		return "protected", strings.Join(all, "; ") + "; " + protectedHint
	}
	return "running", ""
}

func (c *Controller) troubles() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trouble == "" {
		return slices.Clone(c.over)
	}
	return append([]string{"the controller cannot do its work: " + c.trouble}, c.over...)
}

// outOfService lists the nodes that take no jobs, those with one reason together.
func outOfService(nodes []slurm.Node) []string {
	type group struct{ state, reason string }
	of := map[group][]string{}
	for _, n := range nodes {
		switch {
		case n.State.Down():
			of[group{"down", n.Reason}] = append(of[group{"down", n.Reason}], n.Name)
		case n.State.Draining():
			of[group{"drained", n.Reason}] = append(of[group{"drained", n.Reason}], n.Name)
		}
	}
	var lines []string
	for _, g := range slices.SortedStableFunc(maps.Keys(of), func(a, b group) int {
		return cmp.Or(strings.Compare(a.state, b.state), strings.Compare(a.reason, b.reason))
	}) {
		lines = append(lines, fmt.Sprintf("%s %s: %s", slurm.Compress(of[g]), g.state, cmp.Or(g.reason, "no reason given")))
	}
	return lines
}
