package batch

import (
	"slices"
	"strings"
)

// Launchers meet at the address that they are given. A script may start one of them for
// each node: in a loop, in the background, or as a part of a larger training with the
// number of its node.

// meetsNone tells whether a launcher that is started on some nodes surely meets none that is
// started at another place of the script, or by another job.
func (s *script) meetsNone(c *command, nodes int) bool {
	switch {
	case s.has("array"), c.function != "", c.background && c.looped, c.task() && c.srun.has("nodelist", "nodefile", "relative", "exclude", "jobid"):
		return false
	case nodes != s.job.minNodes && c.looped:
		return false
	}
	if rank, given := c.flag("node-rank", "machine-rank"); given && (nodes != s.job.minNodes || !c.task() || !ownNumber(rank)) {
		return false
	}
	return !slices.ContainsFunc(s.commands, func(o *command) bool { return s.besides(c, o) })
}

// ownNumber tells whether a rank is the number that Slurm gives a task or its node.
func ownNumber(rank word) bool {
	_, value, ok := strings.Cut(rank.raw, "=")
	if !ok {
		value = rank.raw
	}
	return slices.Contains([]string{"SLURM_NODEID", "SLURM_PROCID"}, strings.Trim(value, `"'\${}`))
}

// besides tells whether another command may start launchers while one runs.
func (s *script) besides(c, o *command) bool {
	if o.substituted || o.index == c.index || o.srun != nil && o.srun == c.srun || c.within(o) {
		return false
	}
	if !o.launches() && !s.unseen(o) && !slices.Contains(distributors, o.name) {
		return false
	}
	return c.background || o.background || o.function != ""
}
