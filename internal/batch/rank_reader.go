package batch

import "slices"

// effect is what it does to a job that a variable is the same in all tasks.
type effect int

const (
	// unused: no task reads it. doubtful: one may. fatal: ranks are the same and wait
	// for others, or take the same GPU.
	unused effect = iota
	doubtful
	fatal
)

// rankRead tells what becomes of a variable that the batch script sets to a rank: who
// reads it, in the environment or where a command line is put together from it.
func (s *script) rankRead(v *variable) effect {
	worst := unused
	for _, name := range s.carriers(v) {
		for _, c := range s.commands {
			if s.startsTasks(c) && !c.task() && slices.ContainsFunc(c.words, func(w word) bool { return expands(w.raw, name) }) {
				worst = max(worst, s.stepEffect(c))
			}
		}
		if !s.exportedRank(name) {
			continue
		}
		for _, w := range s.words {
			if w.task() && expands(w.raw, name) && !s.taskSets(name, w.context) {
				worst = max(worst, s.stepEffect(w.srun))
			}
		}
	}
	if v.exported {
		worst = max(worst, s.environmentEffect(v))
	}
	return worst
}

// carriers are a variable and those that are put together from it.
func (s *script) carriers(v *variable) []string {
	names := []string{v.name}
	for i := 0; i < len(names); i++ {
		for _, other := range s.variables {
			carries := expands(other.raw, names[i]) || slices.ContainsFunc(other.items, func(w word) bool { return expands(w.raw, names[i]) })
			if !other.task() && carries && !slices.Contains(names, other.name) {
				names = append(names, other.name)
			}
		}
	}
	return names
}

// exportedRank tells whether tasks see a variable of the batch script.
func (s *script) exportedRank(name string) bool {
	return slices.ContainsFunc(s.assigned(name), func(v *variable) bool { return v.exported && !v.task() })
}

// stepEffect is what one and the same rank in a step's command line does to it. A nil
// step is something else that starts tasks.
func (s *script) stepEffect(srun *command) effect {
	switch {
	case srun == nil, !s.runsTraining(srun):
		return doubtful
	case s.stepOf(srun).tasks == 1:
		return unused
	case s.ranksItself(srun):
		return doubtful
	}
	return fatal
}

// Variables that PyTorch and the GPUs' libraries read themselves, so that equal values
// are fatal (torch.distributed, init_method env://).
var readByLibraries = []string{"RANK", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES"}

// taskSets tells whether a task gives a variable a value of its own, or removes it, before something in it runs.
func (s *script) taskSets(name string, c context) bool {
	return slices.ContainsFunc(s.variables, func(o *variable) bool {
		return o.name == name && o.task() && o.srun == c.srun && !expands(o.raw, name) && (o.scope == nil || slices.Contains(c.outerCommands(), o.scope) || o.scope.context == c)
	}) || slices.ContainsFunc(c.outerCommands(), func(o *command) bool { return o.name == "env" && o.unsetsVariable(name) })
}

// unsetsVariable tells whether env takes a variable away: -u NAME, --unset=NAME, -i.
func (c *command) unsetsVariable(name string) bool {
	return slices.ContainsFunc(c.own(), func(w word) bool {
		return w.text == name || w.text == "-u"+name || w.text == "--unset="+name || w.text == "-i" || w.text == "--ignore-environment"
	})
}

// environmentEffect is what a variable does to programs that see it. Launchers such as
// torchrun set the ranks of what they start themselves, and do not read them.
func (s *script) environmentEffect(v *variable) effect {
	worst := unused
	for _, c := range s.commands {
		if !c.task() {
			continue
		}
		switch {
		case s.taskSets(v.name, c.context):
		case c.launches() && v.name != "CUDA_VISIBLE_DEVICES", c.under(launchers...):
		case c.python() && slices.Contains(readByLibraries, v.name), c.launches():
			worst = max(worst, fatal)
		case c.python(), c.name == "", s.unseen(c):
			worst = max(worst, doubtful)
		}
	}
	return worst
}
