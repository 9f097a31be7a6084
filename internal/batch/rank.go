package batch

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// rankRules are about which rank is what, and how many there are.
func rankRules(s *script) {
	s.ranksInBatch()
	s.ranksOutside()
	s.ranksInOptions()
	s.exportedTexts()
	s.worldSize()
	s.processesPerNode()
	s.parallelism()
	s.visibleDevices()
}

// perTask are variables that differ from task to task. In the batch script, they
// are those of its first node: 0.
var perTask = []string{"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_TASK_PID"}

// oneTask tells whether the job surely has one task only, so that 0 is right.
func (s *script) oneTask() bool {
	return s.job.taskCount() == 1 && !slices.ContainsFunc(s.named("srun", "mpirun", "mpiexec"), func(c *command) bool {
		return s.stepOf(c).tasks != 1
	})
}

// Names of variables and options that are a task's own.
var rankName = pattern.New(`^(RANK|LOCAL_RANK|NODE_RANK|GROUP_RANK|MACHINE_RANK|GLOBAL_RANK|WORLD_RANK|OMPI_COMM_WORLD_(LOCAL_)?RANK|PROCID|NODEID|LOCALID|NODE_ID|RANK_ID|CUDA_VISIBLE_DEVICES)$`)

// ranksInBatch finds RANK=$SLURM_PROCID in the body of the script: it is worked
// out once, on the first node, and every task gets 0.
func (s *script) ranksInBatch() {
	if s.parts || s.oneTask() || !s.hasTasks() || s.runsItself() {
		return
	}
	for _, v := range s.variables {
		found := s.expandedHere(word{raw: v.raw})
		whole := len(found) > 0 && strings.Trim(v.raw, `"{}$`) == found[0].name
		if len(found) == 0 || s.inTask(v.context) || v.substituted || !rankName().MatchString(v.name) && !whole {
			continue
		}
		name := found[0].name
		var d *diag.Diagnostic
		switch s.rankRead(v) {
		case unused:
			continue
		case doubtful:
			d = s.warnf("script/rank-in-batch", v.Place, "%s is worked out once, on the first node, where %s is 0: every task gets 0", v.name, name)
		default:
			d = s.errorf("script/rank-in-batch", v.Place, "%s is worked out once, on the first node, where %s is 0: every task gets 0", v.name, name)
		}
		d.WithHint("set it in the task: srun bash -c 'export %s=$%s; exec python train.py'", v.name, name)
	}
}

// inTask tells whether something runs in a task, or may do so: a function that
// is handed on to a step.
func (s *script) inTask(c context) bool {
	return c.task() || c.function != "" && bytes.Contains(s.file.data, []byte("export -f")) || c.function != "" && bytes.Contains(s.file.data, []byte("declare -f"))
}

// runsItself tells whether srun starts the script again, as srun "$0".
func (s *script) runsItself() bool {
	return slices.ContainsFunc(s.commands, func(c *command) bool {
		return c.name == "srun" && slices.ContainsFunc(c.words, func(w word) bool { return strings.Contains(w.raw, "$0") || strings.Contains(w.raw, "BASH_SOURCE") })
	})
}

// hasTasks tells whether the script starts tasks at all, or may do so.
func (s *script) hasTasks() bool {
	return slices.ContainsFunc(s.commands, s.startsTasks)
}

// startsTasks tells whether a command starts others on the job's nodes.
func (s *script) startsTasks(c *command) bool {
	return slices.Contains([]string{"srun", "mpirun", "mpiexec", "mpiexec.hydra", "prun", "pdsh", "clush", "parallel-ssh", "ssh"}, c.name)
}

// ranksOutside finds $SLURM_PROCID in the command line of srun, where the batch
// script's shell expands it.
func (s *script) ranksOutside() {
	if s.parts || s.oneTask() || s.runsItself() {
		return
	}
	for _, c := range s.commands {
		if c.name != "srun" || c.task() {
			continue
		}
		if st := s.stepOf(c); st.tasks == 1 {
			continue
		}
		for _, w := range c.words {
			for _, m := range s.expandedHere(w) {
				if !s.runsTraining(c) {
					s.warnf("script/rank-in-batch", m.place, "the batch script expands %s, on the first node, before srun runs: every task gets 0", m.name).
						WithHint("let the task expand it: srun bash -c '... $%s ...', in single quotes or with \\$", m.name)
					continue
				}
				if s.ranksItself(c) {
					s.warnf("script/rank-in-batch", m.place, "the batch script expands %s, on the first node, before srun runs: every task gets 0; the rendezvous of c10d numbers the nodes anyhow", m.name).
						WithHint("remove --node-rank")
					continue
				}
				s.errorf("script/rank-in-batch", m.place, "the batch script expands %s, on the first node, before srun runs: every task gets 0", m.name).
					WithHint("let the task expand it: srun bash -c '... $%s ...', in single quotes or with \\$", m.name)
			}
		}
	}
}

// ranksItself tells whether a step's launchers number their nodes themselves
// (the rendezvous of torchrun and accelerate with --rdzv-backend=c10d takes no notice of --node-rank).
func (s *script) ranksItself(srun *command) bool {
	return slices.ContainsFunc(s.commands, func(c *command) bool {
		backend, _ := c.flag("rdzv-backend")
		return c.srun == srun && (c.torch() || c.name == "accelerate") && backend.is("c10d")
	})
}

// taskVariable is a variable of tasks that the shell expands, and its place.
type taskVariable struct {
	name  string
	place diag.Place
}

// expandedHere are the variables of tasks that the shell expands in a word.
func (s *script) expandedHere(w word) []taskVariable {
	var found []taskVariable
	for _, e := range expansionsIn(w.raw) {
		if slices.Contains(perTask, e.name) {
			found = append(found, taskVariable{e.name, s.within(w, e.at)})
		}
	}
	return found
}

// within is the place of a byte of a word. Of a word in bash -c '...' it is the
// word's.
func (s *script) within(w word, i int) diag.Place {
	if w.start == 0 {
		return w.Place
	}
	return s.file.place(w.start + i)
}

// worldSize holds WORLD_SIZE to the number of tasks of the job.
func (s *script) worldSize() {
	tasks := s.job.taskCount()
	if s.parts || tasks == 0 || s.job.gpuCount == 0 || !s.hasTasks() {
		return
	}
	for _, v := range s.assigned("WORLD_SIZE") {
		n, ok := v.value.number()
		gpus := s.job.minNodes * s.job.gpuCount
		if !ok || n == tasks || s.job.exact && n == gpus || n == s.job.minNodes || !s.certain(v.context) || s.overwritten(v) || s.hasStepOf(v, n) {
			continue
		}
		s.errorf("script/world-size", v.Place, "WORLD_SIZE is %d, but the job has %s on %s", n, count.Of(tasks, "task"), count.Of(gpus, "GPU")).
			WithHint("export WORLD_SIZE=$SLURM_NTASKS")
	}
}

// hasStepOf tells whether a step with a number of tasks sees a variable.
func (s *script) hasStepOf(v *variable, tasks int) bool {
	return slices.ContainsFunc(s.stepsThatSee(v), func(c *command) bool { return s.stepOf(c).tasks == tasks })
}

// processesPerNode holds torchrun's --nproc-per-node to the GPUs of a node.
func (s *script) processesPerNode() {
	if s.parts || s.job.gpuCount == 0 {
		return
	}
	for _, c := range s.commands {
		w, ok := c.flag("nproc-per-node", "nproc", "num-gpus", "num-processes-per-node")
		if !ok || !c.launches() || c.name == "" && !c.torch() {
			continue
		}
		n, known := w.number()
		asked := s.job.gpuCount
		switch {
		case !known || n == asked, n < asked && (s.sharesNode(c) || c.maybe): // fewer in a branch are meant so
		case n > asked:
			s.errorf("script/processes", w.Place, "%s on each node, but the job asks for %s (%s)", count.Of(n, "process"), count.Of(asked, "GPU"), s.job.gpus.written()).
				WithHint("start one process for each GPU: %d", asked)
		default:
			s.warnf("script/processes", w.Place, "%s on each node, and %s of the %d GPUs (%s) stay idle", count.Of(n, "process"), strconv.Itoa(asked-n), asked, s.job.gpus.written()).
				WithHint("start one process for each GPU: %d", asked)
		}
	}
}

// sharesNode tells whether other launchers run beside one, each with some of the node's GPUs.
func (s *script) sharesNode(c *command) bool {
	return c.background && (c.looped || slices.ContainsFunc(s.commands, func(o *command) bool { return o != c && o.launches() && (o.background || o.index > c.index) }))
}

// parallelSizes are options of Megatron's, NeMo's and others that divide the ranks.
var parallelSizes = []string{"tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size"}

// parallelism: the ranks must be a multiple of tensor × pipeline × context
// parallel sizes (Megatron-LM, arguments.py: world size is divided by them).
func (s *script) parallelism() {
	if s.parts || !s.job.exact || s.job.gpuCount == 0 {
		return
	}
	gpus := s.job.minNodes * s.job.gpuCount
	for _, c := range s.commands {
		product, given, at := 1, 0, c.Place
		if !c.launches() && !c.task() || c.task() && s.stepOf(c.srun).nodes != s.job.minNodes || !c.trains() {
			continue // a program that converts a checkpoint needs no GPU for each part
		}
		for _, name := range parallelSizes {
			w, ok := c.flag(name)
			n, known := w.number()
			if ok && !known || ok && n <= 0 {
				product = 0
			}
			if ok && known {
				product *= n
				given++
				at = w.Place
			}
		}
		if given == 0 || product <= 0 || gpus%product == 0 {
			continue
		}
		s.errorf("script/parallelism", at, "tensor × pipeline × context parallel sizes are %d, which does not divide the %d GPUs of the job", product, gpus).
			WithHint("%d nodes of %d GPUs, or other sizes", (gpus/product+1)*product/s.job.gpuCount, s.job.gpuCount)
	}
}

// visibleDevices: Slurm gives a job its GPUs by this variable and by a cgroup;
// other numbers are wrong as soon as the node is shared.
func (s *script) visibleDevices() {
	for _, v := range s.assigned("CUDA_VISIBLE_DEVICES") {
		if !v.known() || v.text == "" || strings.Trim(v.text, "0123456789, ") != "" || v.conditional || v.looped {
			continue
		}
		s.warnf("script/cuda-devices", v.Place, "Slurm sets CUDA_VISIBLE_DEVICES to the GPUs of the job; %s may be others", v.text).
			WithHint("remove it; ask for GPUs with --gpus-per-node or --gres")
	}
}
