package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// resourceRules are about the resources that the job asks for, or should.
func resourceRules(s *script) {
	if s.parts {
		return
	}
	s.noGPUs()
	s.sharedNodes()
	s.memoryRules()
	s.timeRules()
	s.arraySize()
	s.arrayLimit()
	s.taskCPUs()
	s.stepCPUs()
	s.stepSizes()
}

// gpuOptions ask for GPUs.
var gpuOptions = []string{"gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket"}

// asksForGPUs tells whether the job asks for GPUs in any way.
func (s *script) asksForGPUs() bool {
	if s.meant(gpuOptions...) || s.meant("gres") && !s.has("gres") {
		return true
	}
	for _, name := range []string{"gres", "tres-per-task"} {
		if o, ok := s.option(name); ok && strings.Contains(o.Value, "gpu") {
			return true
		}
	}
	return false
}

// exclusive tells whether the job surely has its nodes for itself, and whether
// that is known at all: queues may see to it.
func (s *script) exclusive() (alone, known bool) {
	if o, ok := s.option("exclusive"); ok {
		return o.Value == "", true
	}
	queues := s.queues()
	if len(queues) == 0 {
		return false, false
	}
	alone = !slices.ContainsFunc(queues, func(q Queue) bool { return !q.Exclusive })
	return alone, alone || !slices.ContainsFunc(queues, func(q Queue) bool { return q.Exclusive })
}

// noGPUs: without a request, a job's cgroup has no GPU (slurm.conf(5):
// ConstrainDevices). A job with whole nodes has their GPUs.
func (s *script) noGPUs() {
	q, ok := s.queue()
	if alone, _ := s.exclusive(); !ok || alone || !q.gpus() || s.asksForGPUs() {
		return
	}
	most := 0
	for _, r := range q.Resources {
		most = max(most, r.GPUs)
	}
	s.warnf("script/no-gpus", s.whole(), "the nodes of partition %s have GPUs, and the job asks for none: it gets none, or those of other jobs", q.Name).
		WithHint("#SBATCH --gpus-per-node=%d", most)
}

// allGPUs tells whether the job takes all GPUs of its nodes.
func (s *script) allGPUs() bool {
	q, ok := s.queue()
	if !ok || !q.gpus() || s.job.gpuCount == 0 {
		return false
	}
	return !slices.ContainsFunc(q.Resources, func(r Resource) bool { return r.GPUs > s.job.gpuCount })
}

// sharedNodes: on some of a node's GPUs, a job of several nodes shares the
// network and the memory with strangers.
func (s *script) sharedNodes() {
	alone, known := s.exclusive()
	if alone || !known || !s.job.several() || s.job.gpuCount == 0 || s.allGPUs() {
		return
	}
	s.warnf("script/shared-nodes", s.job.gpus.Place, "%s leaves GPUs of each node to other jobs, which then share its network and CPUs", s.job.gpus.written()).
		WithHint("#SBATCH --exclusive, or JobExclusiveAllocation: true in the queue; or fewer nodes and all of their GPUs")
}

// memoryRules: without memory-based scheduling Slurm counts no memory
// (ParallelCluster's EnableMemoryBasedScheduling); with it, a job that names
// none gets all of a node's.
func (s *script) memoryRules() {
	if s.facts == nil || !s.facts.Filed {
		return
	}
	for _, name := range []string{"mem", "mem-per-cpu", "mem-per-gpu"} {
		if o, ok := s.option(name); ok && !s.facts.MemoryScheduling && memoryMiB(o.Value) > 0 {
			s.warnf("script/memory-unenforced", o.Place, "%s keeps no memory for the job: the cluster does not count memory", o.written()).
				WithHint("EnableMemoryBasedScheduling: true in the cluster file, or --exclusive")
		}
	}
	alone, known := s.exclusive()
	if s.facts.MemoryScheduling && known && !alone && s.job.gpuCount > 0 && !s.allGPUs() && !s.has("mem", "mem-per-cpu", "mem-per-gpu") {
		s.infof("script/memory-all", s.job.gpus.Place, "the job takes all memory of its nodes, so that nobody can use the GPUs that it leaves").
			WithHint("#SBATCH --mem-per-gpu=SIZE")
	}
}

// foreignTime is a time limit in lines that sbatch reads beside its own (Slurm's src/sbatch/opt.c, xlate.c).
var foreignTime = pattern.New(`^#SLURM\b.*(--time\b|\s-t)|^#PBS\b.*\bwalltime=|^#BSUB\b.*\s-W`)

func (s *script) otherTime() bool {
	for n := 1; n < min(s.firstCommand(), maxOptions); n++ {
		if foreignTime().Match(s.file.line(n)) {
			return true
		}
	}
	return false
}

// timeRules: a job without a limit runs until it is noticed, and is never
// fitted in before another one.
func (s *script) timeRules() {
	o, given := s.option("time")
	if !given && (s.meant("time") || s.otherTime()) {
		return
	}
	if !given {
		d := s.warnf("script/time", s.whole(), "the job has no time limit").WithHint("#SBATCH --time=DAYS-HOURS:MINUTES:SECONDS")
		if q, ok := s.queue(); ok && q.CapacityType == "CAPACITY_BLOCK" {
			d.Message += ", and the Capacity Block of partition " + q.Name + " ends under it"
		}
		return
	}
	q, ok := s.queue()
	if minutes := minutesIn(o.Value); ok && q.MaxMinutes > 0 && minutes > q.MaxMinutes {
		s.errorf("script/time-limit", o.Place, "%s is more than partition %s allows a job: %s", o.written(), q.Name, count.Of(q.MaxMinutes, "minute")).
			WithHint("ask for less, and go on from a checkpoint in the next job")
	}
}

// minutesIn reads "90", "30:00", "1:30:00", "2-0", "7-00:00:00", rounded up; 0 is
// something else.
func minutesIn(text string) int {
	days, rest, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, rest = "0", text
	}
	parts := strings.Split(rest, ":")
	var n [3]int
	for i, p := range append(parts, days) {
		if p == "" || strings.Trim(p, "0123456789") != "" || len(parts) > 3 {
			return 0
		}
		if i < len(parts) {
			n[i] = number(p)
		}
	}
	minutes := number(days) * 24 * 60
	switch {
	case hasDays:
		return minutes + n[0]*60 + n[1] + (n[2]+59)/60
	case len(parts) == 3:
		return n[0]*60 + n[1] + (n[2]+59)/60
	}
	return n[0] + (n[1]+59)/60
}

// arraySize says when the tasks of an array do not run at once.
func (s *script) arraySize() {
	o, ok := s.option("array")
	q, known := s.queue()
	alone, _ := s.exclusive()
	if !ok || !known || q.nodes() == 0 || !alone && !s.allGPUs() || s.job.minNodes == 0 {
		return
	}
	tasks := arrayTasks(o.Value)
	if at := tasks * s.job.minNodes; at > q.nodes() {
		s.infof("script/array-size", o.Place, "the array wants %s at once, and partition %s has %d: its tasks run one after the other", count.Of(at, "node"), q.Name, q.nodes())
	}
}

// arrayTasks counts how many tasks of "0-9", "1,3,5-7:2", "0-99%8" run at once; 0
// is something else.
func arrayTasks(text string) int {
	list, limit, limited := strings.Cut(text, "%")
	n := 0
	for item := range strings.SplitSeq(list, ",") {
		span, by, stepped := strings.Cut(item, ":")
		first, last, isSpan := strings.Cut(span, "-")
		if strings.Trim(first+last+by, "0123456789") != "" {
			return 0
		}
		step := 1
		if stepped {
			step = max(number(by), 1)
		}
		if !isSpan {
			last = first
		}
		n += max(number(last)-number(first), 0)/step + 1
	}
	if limited {
		return min(n, max(number(limit), 1))
	}
	return n
}

// taskCPUs: a task has one CPU by default, and data loaders of
// PyTorch want several.
func (s *script) taskCPUs() {
	alone, known := s.exclusive()
	if alone || !known || s.job.gpuCount == 0 || s.has("cpus-per-task", "cpus-per-gpu", "ntasks", "mincpus") {
		return
	}
	for _, c := range s.commands {
		if c.trains() && c.task() && !c.srun.has("cpus-per-task", "cpus-per-gpu") {
			s.warnf("script/cpus-per-task", c.Place, "each task has one CPU, for training and its data loaders").
				WithHint("#SBATCH --cpus-per-task=N, and srun --cpus-per-task=$SLURM_CPUS_PER_TASK")
			return
		}
	}
}

// stepCPUs: from Slurm 22.05 to 23.02 srun does not take --cpus-per-task from sbatch, but
// only SRUN_CPUS_PER_TASK; before and after it does (its release notes of 22.05 and 23.11).
func (s *script) stepCPUs() {
	if s.job.cpusPerTask <= 1 || len(s.assigned("SRUN_CPUS_PER_TASK")) > 0 || !s.slurm().before("23.11") || !s.slurm().from("22.05") {
		return
	}
	for _, c := range s.named("srun") {
		if c.task() || c.has("cpus-per-task", "cpus-per-gpu", "exact", "overlap") || !s.runsTraining(c) {
			continue
		}
		d := s.warnf("script/srun-cpus", c.Place, "srun of Slurm %s does not take %s from sbatch: a task may use one CPU", s.slurm(), s.job.cpus.written()).
			WithHint("srun --cpus-per-task=$SLURM_CPUS_PER_TASK, or export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK before it")
		if s.facts.Rehearsal {
			d.Message += ", and more in production, where Slurm is newer"
		}
	}
}
