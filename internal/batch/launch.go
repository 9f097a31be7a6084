package batch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// launchRules are about how the ranks are started on the nodes.
func launchRules(s *script) {
	if s.parts || s.shell == "" {
		return
	}
	s.oneNode()
	s.launchersPerTask()
	s.launcherRules()
	s.separateRuns()
	s.fixedHosts()
	s.ignoredOptions()
	s.stepPrograms()
	s.badExits()
	s.mpi()
	s.mpiProcesses()
	s.activated()
}

// distributors start something on the other nodes of a job.
var distributors = []string{
	"srun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun", "pdsh", "clush", "ssh", "parallel-ssh", "pssh", "ibrun", "jsrun",
	"ray", "dask", "horovodrun", "julia", "charmrun", "aprun", "parallel", "ansible", "legate", "flux",
}

// spreads tells whether something in the script may start work on other nodes:
// also programs and scripts that we cannot look into.
func (s *script) spreads() bool {
	return slices.ContainsFunc(s.commands, func(c *command) bool {
		return slices.Contains(distributors, c.name) || c.name == "" && !c.python() || s.unseen(c) || c.handsOn() || c.hasHosts()
	})
}

// hasHosts tells whether a program is given the names of nodes.
func (c *command) hasHosts() bool {
	return !slices.Contains([]string{"echo", "printf", "scontrol"}, c.name) && slices.ContainsFunc(c.args(), func(w word) bool {
		raw := strings.ToLower(w.raw)
		return strings.Contains(raw, "nodelist") || strings.Contains(raw, "host") || strings.Contains(raw, "nodes[@]")
	})
}

// unseen tells whether a command is a script of the user's own: make, a path, or
// a shell with a file.
func (s *script) unseen(c *command) bool {
	name := c.words[0].text
	switch {
	case slices.Contains([]string{"make", "source", ".", "eval", "snakemake", "nextflow", "just"}, c.name):
		return !strings.HasSuffix(name, "/activate") && !(len(c.words) > 1 && strings.HasSuffix(c.words[1].text, "/activate"))
	case slices.Contains(shells, c.name):
		return c.at == 0
	case strings.Contains(name, "/"):
		return !c.python() && !c.launches() && !strings.HasPrefix(name, "/usr/") && !strings.HasPrefix(name, "/bin/") && !strings.HasPrefix(name, "/opt/")
	}
	return strings.HasSuffix(name, ".sh")
}

// called is a command's name for people.
func (s *script) called(c *command) string {
	if m, ok := c.module(); ok {
		return "python -m " + value{text: m}.shown()
	}
	return c.name
}

// handsOn tells whether a launcher has been told how to reach the other nodes
// itself: deepspeed by a list of hosts.
func (c *command) handsOn() bool {
	_, hosts := c.flag("hostfile")
	_, launcher := c.flag("launcher")
	return c.name == "deepspeed" && (hosts || launcher)
}

// launchersPerTask: torchrun starts all ranks of its node, so that a node needs
// one of it.
func (s *script) launchersPerTask() {
	for _, c := range s.commands {
		if !c.launches() || !c.task() || c.name == "deepspeed" && c.handsOn() {
			continue
		}
		st := s.stepOf(c.srun)
		if st.perNode <= 1 || s.processes(c) == 1 && s.taskSets("CUDA_VISIBLE_DEVICES", c.context) { // each task has a GPU of its own
			continue
		}
		at := c.Place
		d := s.errorf("script/launcher-tasks", at, "srun starts %s %d times on each node, and each starts all ranks of the node", s.called(c), st.perNode)
		if n := s.processes(c); n > 1 {
			d.Message += ": " + count.Of(st.perNode*n, "rank") + " for " + count.Of(max(s.job.gpuCount, n), "GPU")
		}
		if o, ignored := s.ignoredTasks(c.srun); ignored {
			d.Message += fmt.Sprintf("; it ignores %s, since SLURM_NTASKS is %d", o.written(), s.job.taskCount())
		}
		d.WithHint("srun --ntasks=$SLURM_NNODES --ntasks-per-node=1, or no %s", s.called(c))
	}
}

// ignoredOptions finds --ntasks-per-node of srun's that has no effect.
func (s *script) ignoredOptions() {
	for _, c := range s.named("srun") {
		o, ignored := s.ignoredTasks(c)
		if !ignored || c.task() || s.launchesIn(c) {
			continue
		}
		st := s.stepOf(c)
		s.warnf("script/srun-tasks", o.Place, "srun ignores %s, since SLURM_NTASKS is %d: the job has so many tasks", o.written(), st.tasks).
			WithHint("srun --ntasks=%d %s", number(o.Value)*st.nodes, o.written())
	}
}

func (s *script) launchesIn(srun *command) bool {
	return slices.ContainsFunc(s.commands, func(c *command) bool { return c.srun == srun && c.launches() })
}

// processes is how many ranks a launcher starts, 0 if it is not told.
func (s *script) processes(c *command) int {
	w, ok := c.flag("nproc-per-node", "num-gpus", "num-processes")
	if !ok {
		return 0
	}
	n, _ := w.number()
	return n
}

// badExits: where one rank fails, the others wait for it, and the step goes on
// (srun(1): --kill-on-bad-exit). But where a node dies, the ranks of the others
// fail at once, and with that option the script ends before Slurm takes the node
// for dead: the job has failed, and is not queued again.
func (s *script) badExits() {
	_, requeued := s.option("requeue")
	for _, c := range s.named("srun") {
		if c.task() || !s.runsTraining(c) || s.stepOf(c).tasks <= 1 {
			continue
		}
		o, killed := c.option("kill-on-bad-exit")
		switch {
		case requeued && killed && o.Value != "0":
			s.warnf("script/kill-on-bad-exit", o.Place, "where a node dies, the script ends before Slurm notices, and the job fails instead of being queued again").
				WithHint("remove --kill-on-bad-exit, or --requeue")
		case !requeued && !killed && !c.has("wait") && len(s.assigned("SLURM_KILL_BAD_EXIT")) == 0 && len(s.assigned("SLURM_WAIT")) == 0:
			s.warnf("script/kill-on-bad-exit", c.Place, "where one task fails, the others wait for it until the job's time is over").
				WithHint("srun --kill-on-bad-exit=1; or #SBATCH --requeue, which goes without it")
		}
	}
}

// mpiTypes are those of srun --mpi (srun --mpi=list, Slurm 22.05 to 25.11).
var mpiTypes = []string{"none", "pmi2", "pmix", "cray_shasta", "list", "openmpi", "pmix_v1", "pmix_v2", "pmix_v3", "pmix_v4", "pmix_v5", "pmix_v6"}

func (s *script) mpi() {
	for _, c := range s.named("srun") {
		if o, ok := c.option("mpi"); ok && !strings.ContainsRune(o.Value, hole) && !slices.Contains(mpiTypes, o.Value) {
			d := s.errorf("script/mpi-type", o.Place, "%q is no type of srun's --mpi", o.Value)
			if near := diag.Nearest(o.Value, mpiTypes); near != "" {
				d.WithHint("did you mean %s?", near)
			} else {
				d.WithHint("srun --mpi=list names those of the cluster")
			}
		}
	}
	for _, c := range s.named("mpirun", "mpiexec", "mpiexec.hydra") {
		if !c.task() || s.stepOf(c.srun).tasks <= 1 {
			continue
		}
		s.errorf("script/mpirun", c.Place, "each of the %d tasks of srun starts a %s of its own", s.stepOf(c.srun).tasks, c.name).
			WithHint("srun --mpi=pmix PROGRAM, or %s without srun", c.name)
	}
}

// mpiProcesses finds more processes than tasks: Open MPI has one place for each task, and starts nothing if there are too few.
func (s *script) mpiProcesses() {
	for _, c := range s.named("mpirun", "mpiexec", "orterun") {
		w, ok := c.flag("np")
		n, known := w.number()
		tasks := s.job.taskCount()
		if !ok || !known || c.task() || !s.setsTasks() || n <= tasks || mpiPlaces().MatchString(wordsOf(c)) {
			continue
		}
		s.warnf("script/processes", w.Place, "%s is told to start %s, and the job has %s: Open MPI refuses it", c.name, count.Of(n, "process"), count.Of(tasks, "task")).
			WithHint("ask for as many tasks, or leave -np out")
	}
}

// mpiPlaces are options that give Open MPI other places than the job's tasks.
var mpiPlaces = pattern.New(`(?i)oversubscribe|host|machinefile|hwthread|(^| )-H\b|prte|\brankfile|slots`)

// activated finds an environment that is set up in the script's body, and does
// not reach the tasks.
func (s *script) activated() {
	var at *command
	for _, c := range s.commands {
		if !c.task() && c.outer == nil && c.function == "" && c.activates() {
			at = c
		}
	}
	if at == nil {
		return
	}
	for _, c := range s.named("srun") {
		if c.index < at.index || c.task() || !s.runsPython(c) {
			continue
		}
		export, given := c.option("export")
		switch {
		case given && !strings.Contains(export.Value, "ALL") && !strings.ContainsRune(export.Value, hole):
			s.warnf("script/venv", c.Place, "the tasks do not see what line %d sets up: %s keeps its variables from them", at.Line, export.written()).
				WithHint("srun --export=ALL, or set it up in the task")
		case c.has("container-image", "container-name"):
			s.warnf("script/venv", at.Place, "the tasks run in a container, where what this sets up is not: see line %d", c.Line).
				WithHint("remove it, or set it up in the task")
		}
	}
}

// activates tells whether a command sets an environment of programs up.
func (c *command) activates() bool {
	switch c.name {
	case "source", ".":
		return len(c.words) > 1 && strings.HasSuffix(c.words[1].text, "/activate")
	case "conda", "mamba", "micromamba":
		return len(c.words) > 1 && c.words[1].text == "activate"
	case "module", "ml":
		return len(c.words) > 1 && (c.words[1].text == "load" || c.name == "ml")
	}
	return false
}

func (s *script) runsPython(srun *command) bool {
	return slices.ContainsFunc(s.commands, func(c *command) bool { return c.srun == srun && (c.python() || c.launches()) })
}
