package controller

import (
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

// byHand are the changes between two looks at Slurm's nodes that the controller did not
// make: an administrator, a health check or a node itself drained nodes, took them back or
// had them rebooted. before has the nodes of the last look by name.
func byHand(before map[string]slurm.Node, now []slurm.Node) []Event {
	var all []Event
	for _, n := range now {
		b, known := before[n.Name]
		kind, reason, user := handKind(b, n)
		if !known || kind == "" {
			continue
		}
		e := Event{Kind: kind, Nodes: []string{n.Name}, Reason: reason, From: b.State.String(), To: n.State.String(), User: user}
		same := slices.IndexFunc(all, func(o Event) bool {
			return o.Kind == e.Kind && o.Reason == e.Reason && o.From == e.From && o.To == e.To && o.User == e.User
		})
		if same < 0 {
			all = append(all, e)
			continue
		}
		all[same].Nodes = append(all[same].Nodes, n.Name)
	}
	return all
}

// What Slurm itself does with flags: a reboot drains a node and ends that, and nodes that
// power up or down lose what was said of them.
const (
	rebootFlags = slurm.FlagRebootRequested | slurm.FlagRebootIssued
	powerFlags  = slurm.FlagPowerDownRequested | slurm.FlagPoweringDown | slurm.FlagPoweredDown | slurm.FlagPoweringUp
)

// handKind is the kind of event that a change of a node by hand is, "" if there is none,
// with its reason and the user who gave that.
func handKind(before, now slurm.Node) (kind, reason, user string) {
	is, was := now.State.Flags, before.State.Flags
	byItself := fleet.ByItself(now.Reason)
	switch {
	case is&rebootFlags != 0 && was&rebootFlags == 0:
		return "reboot", now.Reason, now.ReasonUser
	case (is|was)&rebootFlags != 0:
		return "", "", ""
	case rebooted(before, now):
		return "reboot", now.Reason, now.ReasonUser
	case is&slurm.FlagDrain != 0 && was&slurm.FlagDrain == 0 && (byItself || !fleet.Ours(now.Reason)):
		return "drained", now.Reason, now.ReasonUser
	case is&slurm.FlagDrain == 0 && was&slurm.FlagDrain != 0 && is&powerFlags == 0 && !fleet.Ours(before.Reason):
		return "resumed", before.Reason, ""
	}
	return "", "", ""
}

// rebooted says that a node booted anew between two looks, as an idle one may, whose
// flags never showed the request. On AWS the boot time comes from the uptime, in seconds.
func rebooted(before, now slurm.Node) bool {
	const rounding = 3 * time.Second
	return !before.BootTime.IsZero() && now.BootTime.After(before.BootTime.Add(rounding)) &&
		(before.State.Flags|now.State.Flags)&powerFlags == 0 && before.State.Base != slurm.BaseDown
}

// noteHands adds such changes since the last look to the events.
func (c *Controller) noteHands(now []slurm.Node) {
	for _, e := range byHand(c.lastSeen, now) {
		c.Events.Add(e)
	}
	c.lastSeen = make(map[string]slurm.Node, len(now))
	for _, n := range now {
		c.lastSeen[n.Name] = n
	}
}
