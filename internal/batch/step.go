package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
)

// otherwise are options with which Slurm counts a job's CPUs in other ways than by its
// tasks, or a step's.
var otherwise = []string{
	"mincpus", "cpus-per-gpu", "mem-per-cpu", "mem-per-gpu", "hint", "threads-per-core", "ntasks-per-core", "ntasks-per-socket", "ntasks-per-gpu",
	"extra-node-info", "sockets-per-node", "cores-per-socket", "core-spec", "thread-spec", "overcommit", "jobid", "pack-group", // also called --het-group
}

// stepSizes finds steps that want more than the job has, which srun refuses when the job
// runs. A job with whole nodes has all of them, whatever it asks for.
func (s *script) stepSizes() {
	for _, c := range s.named("srun") {
		if !c.task() && !c.maybe && !c.under("ssh", "salloc") && !c.has("jobid", "pack-group") {
			s.stepOverNodes(c)
		}
	}
	if alone, known := s.exclusive(); alone || !known {
		return
	}
	for _, c := range s.named("srun") {
		if c.task() || c.under("ssh", "salloc") || s.overNodes(c) || slices.ContainsFunc(otherwise, func(name string) bool { return c.has(name) }) {
			continue
		}
		s.stepOverCPUs(c)
		s.stepOverGPUs(c)
	}
}

// stepOverNodes holds a step's nodes to the job's. srun takes fewer where there are fewer
// tasks than nodes, and refuses the step else (tried with Slurm 22.05; srun_job.c).
func (s *script) stepOverNodes(srun *command) {
	o, _ := srun.option("nodes")
	wants := nodeCount(o.Value)
	if !s.overNodes(srun) {
		return
	}
	tasks, given := srun.option("ntasks")
	n := number(tasks.Value)
	switch {
	case given && n == 0:
	case !s.has("nodes", "ntasks"): // the command line may have it
		s.warnf("script/step-size", o.Place, "the step wants %s, and the job has %d: srun refuses it", count.Of(wants, "node"), s.job.minNodes).
			WithHint("#SBATCH --nodes=%d", wants)
	case given && n < wants, !given && s.setsTasks() && s.job.taskCount() < wants:
		s.warnf("script/step-size", o.Place, "the step wants %s, and the job has %d: it gets no more", count.Of(wants, "node"), s.job.minNodes).
			WithHint("ask for them in the job, too: #SBATCH --nodes=%d", wants)
	default:
		s.errorf("script/step-size", o.Place, "the step wants %s, and the job has %d: srun refuses it", count.Of(wants, "node"), s.job.minNodes).
			WithHint("ask for them in the job, too: #SBATCH --nodes=%d", wants)
	}
}

// overNodes tells whether a step wants more nodes than the job has.
func (s *script) overNodes(srun *command) bool {
	o, ok := srun.option("nodes")
	return ok && s.job.exact && nodeCount(o.Value) > s.job.minNodes
}

// stepOverCPUs holds a step's tasks and their CPUs to the job's. Slurm of a
// ParallelCluster counts CPUs one by one (CR_CPU).
func (s *script) stepOverCPUs(srun *command) {
	tasks := s.job.taskCount()
	if tasks == 0 || s.has(otherwise...) || len(s.assigned("SRUN_CPUS_PER_TASK")) > 0 || s.has("cpus-per-task") && s.job.cpusPerTask == 0 {
		return
	}
	each, asks := srun.option("cpus-per-task")
	wide, spread := srun.option("ntasks")
	wants, has := s.stepOf(srun).tasks, max(tasks, s.job.minNodes)*max(s.job.cpusPerTask, 1)
	if asks {
		wants *= number(each.Value)
	}
	if wants <= has || !asks && !spread {
		return
	}
	at := each
	if number(wide.Value) > tasks {
		at = wide
	}
	s.warnf("script/step-size", at.Place, "the step wants %s, and the job has %d: srun refuses it", count.Of(wants, "CPU"), has).
		WithHint("ask for them in the job, too: #SBATCH %s", at.written())
}

// stepOverGPUs does so for GPUs.
func (s *script) stepOverGPUs(srun *command) {
	has, known := s.jobGPUs()
	o, ok := srun.option("gpus-per-task")
	wants := gpusIn(o.Value) * s.stepTasks(srun)
	if !ok {
		o, ok = srun.option("gpus")
		wants = gpusIn(o.Value)
	}
	if !ok || !known || wants <= has {
		return
	}
	s.warnf("script/step-size", o.Place, "the step wants %s, and the job has %d: srun refuses it", count.Of(wants, "GPU"), has).
		WithHint("ask for them in the job, too: #SBATCH --gpus-per-node=N")
}

// stepTasks is how many tasks a step surely has whose GPUs are counted by them.
func (s *script) stepTasks(srun *command) int {
	if o, ok := srun.option("ntasks"); ok {
		return number(o.Value)
	}
	if s.setsTasks() {
		return s.job.taskCount()
	}
	return 1
}

// jobGPUs are those of all the job's nodes, if that is known.
func (s *script) jobGPUs() (n int, known bool) {
	switch {
	case !s.asksForGPUs():
		return 0, true
	case s.has("gpus-per-task", "gpus-per-socket", "tres-per-task"):
		return 0, false
	case s.has("gpus"):
		o, _ := s.option("gpus")
		n = gpusIn(o.Value)
		return n, n > 0
	}
	return s.job.gpuCount * s.job.minNodes, s.job.exact && s.job.gpuCount > 0
}

// gpusIn reads "2" and "h200:2"; 0 is something else.
func gpusIn(text string) int { return number(text[strings.LastIndex(text, ":")+1:]) }
