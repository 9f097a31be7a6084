package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Launchers of several nodes are told which node they are on, if the rendezvous does not number them. Equal
// numbers leave all of them waiting.

// rankOptions give a launcher the number of its node.
var rankOptions = []string{"node-rank", "machine-rank"}

// sameRanks finds launchers on several nodes that are given one number for all, or the name of a variable instead of its value.
func (s *script) sameRanks(c *command, nodes int) {
	w, ok := c.flag(rankOptions...)
	if !ok || !c.task() || !w.known() || c.under(environments...) {
		return
	}
	if m := unexpanded().FindString(w.text); m != "" && w.start > 0 {
		s.errorf("script/rank-in-batch", w.Place, "no shell expands %s here: %s gets it as a text, and ends", m, s.called(c)).
			WithHint("let the task expand it: srun bash -c '... %s ...', in single quotes", m)
		return
	}
	n, number := w.number()
	if !number || nodes < 2 || !s.certain(c.context) || !s.forSeveral(c) || s.toldApart(c.srun) || s.setsPET() {
		return
	}
	s.errorf("script/rank-in-batch", w.Place, "each of the %d nodes is told that it is number %d", nodes, n).
		WithHint("let the task expand it: srun bash -c '... $SLURM_NODEID ...', in single quotes")
}

// unexpanded is a variable of Slurm's in a text that no shell expands any more.
var unexpanded = pattern.New(`^\$\{?SLURM_\w+\}?$`)

// forSeveral tells whether a launcher surely waits for several nodes, and does not number them itself.
func (s *script) forSeveral(c *command) bool {
	w, _ := c.flag("nnodes", "num-machines")
	n, known := w.number()
	backend, given := c.flag("rdzv-backend")
	return known && n > 1 && (!given || backend.is("static")) && !c.mayHaveMore()
}

// ranksInOptions finds --node-rank=$SLURM_NODEID in variables: the batch script expands it, also where srun uses the variable.
func (s *script) ranksInOptions() {
	if s.parts || s.oneTask() || !s.hasTasks() || s.runsItself() {
		return
	}
	for _, v := range s.variables {
		name := rankOptionIn(v)
		if name == "" || s.inTask(v.context) || v.substituted || s.numbersNodes(v) {
			continue
		}
		const hint = "let the task expand it: srun bash -c '... $%s ...', in single quotes"
		read := s.rankRead(v)
		if !s.certain(v.context) || s.overwritten(v) {
			read = min(read, doubtful)
		}
		switch read {
		case unused:
		case doubtful:
			s.warnf("script/rank-in-batch", v.Place, "the batch script expands %s in %s, on the first node, before srun runs: every task gets 0", name, v.name).
				WithHint(hint, name)
		default:
			s.errorf("script/rank-in-batch", v.Place, "the batch script expands %s in %s, on the first node, before srun runs: every task gets 0", name, v.name).
				WithHint(hint, name)
		}
	}
}

// numbersNodes tells whether the launchers that are given a variable number their nodes themselves.
func (s *script) numbersNodes(v *variable) bool {
	return strings.Contains(v.raw, "c10d") || slices.ContainsFunc(v.items, func(w word) bool { return strings.Contains(w.raw, "c10d") }) ||
		slices.ContainsFunc(s.named("srun"), s.ranksItself)
}

// rankOption is an option with a rank as its value, and the last is the variable of it.
var rankOption = pattern.New(`--(node|machine)[-_]rank(=|\s+)["']?\$\{?(SLURM_NODEID|SLURM_PROCID)\b`)

// rankOptionIn is the variable that stands behind an option for ranks in a variable, and that the shell expands.
func rankOptionIn(v *variable) string {
	raw := v.raw
	for _, w := range v.items {
		raw += " " + w.raw
	}
	m := rankOption().FindStringSubmatch(raw)
	if m == nil || !expands(raw, m[3]) {
		return ""
	}
	return m[3]
}

// exportedTexts finds --export='ALL,RANK=$SLURM_PROCID' of srun's, which hands the text on.
func (s *script) exportedTexts() {
	for _, v := range s.variables {
		if v.scope == nil || v.scope.name != "srun" || !rankName().MatchString(v.name) || !v.known() {
			continue
		}
		m := unexpanded().FindString(v.text)
		if m == "" {
			continue
		}
		if slices.Contains(readByLibraries, v.name) && s.runsTraining(v.scope) && !s.launchesIn(v.scope) {
			s.errorf("script/rank-in-batch", v.Place, "no shell expands %s in --export: every task gets it as a text", m).
				WithHint(`set it in the task: srun bash -c 'export %s=%s; exec ...'`, v.name, m)
			continue
		}
		s.warnf("script/rank-in-batch", v.Place, "no shell expands %s in --export: every task gets it as a text", m).
			WithHint(`set it in the task: srun bash -c 'export %s=%s; exec ...'`, v.name, m)
	}
}
