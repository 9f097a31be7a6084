package batch

import (
	"slices"
	"strings"
)

// launchers start the ranks of a node, and know of the other nodes.
var launchers = []string{"torchrun", "deepspeed", "accelerate"}

// launches tells whether a command is a launcher of ranks, such as torchrun or
// python -m torch.distributed.run. With --help it starts nothing.
func (c *command) launches() bool {
	if len(c.args()) > 0 && c.args()[len(c.args())-1].is("--help", "-h", "--version") {
		return false
	}
	if slices.Contains(launchers, c.name) {
		return c.name != "accelerate" || len(c.args()) > 0 && c.args()[0].text == "launch"
	}
	if !c.python() {
		return false
	}
	m, ok := c.module()
	return ok && (strings.HasPrefix(m, "torch.distributed.") || m == "deepspeed.launcher.runner" || m == "accelerate.commands.launch")
}

// torch tells whether a launcher is torchrun.
func (c *command) torch() bool {
	m, _ := c.module()
	return c.name == "torchrun" || c.python() && strings.HasPrefix(m, "torch.distributed.")
}

// python tells whether a command runs Python. A program that is not known may be
// it: "$PYTHON" -m torch.distributed.run.
func (c *command) python() bool {
	if c.name == "" {
		_, ok := c.module()
		return ok
	}
	return strings.HasPrefix(c.name, "python")
}

// module is the value of python -m.
func (c *command) module() (string, bool) {
	for i, a := range c.args() {
		if a.text == "-m" && i+2 < len(c.words) {
			return c.words[i+2].text, true
		}
		if !strings.HasPrefix(a.text, "-") {
			break
		}
	}
	return "", false
}

// trains tells whether a command is a training: a launcher, or Python with a
// script of its own.
func (c *command) trains() bool {
	if c.launches() {
		return true
	}
	return c.python() && slices.ContainsFunc(c.args(), func(w word) bool { return strings.HasSuffix(w.text, ".py") })
}

// runsTraining tells whether a step of srun's runs a training.
func (s *script) runsTraining(srun *command) bool {
	return slices.ContainsFunc(s.commands, func(c *command) bool { return c.srun == srun && c.trains() })
}

// step is how srun spreads its tasks; 0 is not known.
type step struct{ nodes, tasks, perNode int }

// spreading are options of srun's that decide where its tasks are.
var spreading = []string{"nodes", "ntasks", "ntasks-per-node", "nodelist", "ntasks-per-gpu", "ntasks-per-socket", "ntasks-per-core"}

// stepOf is what srun makes of the job's nodes and tasks. Where it does not say
// how many tasks, it takes SLURM_NTASKS, which sbatch sets for --ntasks and for
// --ntasks-per-node, and takes no notice of an --ntasks-per-node of its own that
// does not go with it.
func (s *script) stepOf(srun *command) step {
	number := func(name string) int {
		o, _ := srun.option(name)
		return number(o.Value)
	}
	st := step{nodes: number("nodes"), tasks: number("ntasks"), perNode: number("ntasks-per-node")}
	if !srun.has("nodes", "nodelist") && s.job.exact {
		st.nodes = s.job.minNodes
	}
	const unclear = "ntasks-per-gpu ntasks-per-socket ntasks-per-core gpus-per-task"
	for name := range strings.FieldsSeq(unclear) {
		if srun.has(name) || !srun.has(spreading...) && s.has(name) {
			return step{nodes: st.nodes}
		}
	}
	switch {
	case srun.has("ntasks"):
	case s.setsTasks():
		st.tasks = s.job.taskCount()
	case srun.has("ntasks-per-node") && st.perNode == 0:
	case st.nodes > 0:
		st.tasks = st.nodes * max(st.perNode, 1)
	}
	if st.nodes > 0 && st.tasks > 0 {
		st.perNode = 0
		if st.tasks%st.nodes == 0 {
			st.perNode = st.tasks / st.nodes
		}
	}
	return st
}

// setsTasks tells whether the job has SLURM_NTASKS.
func (s *script) setsTasks() bool { return s.job.allTasks > 0 || s.job.tasksPerNode > 0 }

// ignoredTasks is srun's --ntasks-per-node if it has no effect.
func (s *script) ignoredTasks(srun *command) (Option, bool) {
	o, ok := srun.option("ntasks-per-node")
	n, st := number(o.Value), s.stepOf(srun)
	return o, ok && n > 0 && !srun.has("ntasks") && s.setsTasks() && st.nodes > 0 && st.tasks > 0 && n*st.nodes != st.tasks
}
