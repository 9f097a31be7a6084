package plan

import (
	"net/netip"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// Config is what a cluster file and its muster.yaml say of Slurm's configuration. Nodes
// that are not in addresses have none of their own. Names, users, paths and waits are the
// place's.
func Config(c *spec.Cluster, w *spec.Workload, addresses map[string]netip.Addr) slurm.Config {
	groups := Groups(c, addresses)
	idle := -1
	if m := c.Scheduling.Slurm.ScaledownIdleMinutes; m >= 0 {
		idle = 60 * m
	}
	return slurm.Config{
		MemoryBased: c.Scheduling.Slurm.MemoryBasedScheduling, IdleSeconds: idle,
		Groups: groups, Partitions: Partitions(c, groups), Custom: settings(c.Scheduling.Slurm.Custom),
		Policy: slurm.Policy{Enforce: w.Enforced(), Shares: w.Accounted(), Preempt: w.Preempts()},
	}
}
