package batch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// launcherRules hold what launchers are told of the job, or assume, to the job itself.
func (s *script) launcherRules() {
	for _, c := range s.commands {
		if !c.launches() || s.inTask(c.context) && !c.task() || c.under("ssh", "pdsh", "clush", "mpirun", "mpiexec") {
			continue
		}
		nodes := s.launcherRunsOn(c)
		if nodes == 0 {
			continue
		}
		launcher := c.withoutProgram()
		s.launcherNodes(launcher, nodes)
		s.launcherProcesses(launcher, nodes)
		s.rendezvous(launcher, nodes)
		s.sameRanks(launcher, nodes)
	}
	s.randomInTask()
	s.unstartedTasks()
}

// launcherRunsOn is on how many nodes a launcher is started, 0 if that is not known. In
// the body of the script it is one, and script/one-node tells of the others.
func (s *script) launcherRunsOn(c *command) int {
	switch {
	case c.handsOn() && s.job.exact: // it starts itself on the others
		return s.job.minNodes
	case c.handsOn():
		return 0
	case c.task():
		return s.stepOf(c.srun).nodes
	case s.job.exact && s.job.minNodes == 1:
		return 1
	}
	return 0
}

// withoutProgram is a launcher without the program that it starts and that one's options.
func (c *command) withoutProgram() *command {
	own := *c
	for i := 1; i < len(c.words); i++ {
		before := c.words[i-1].text
		value := strings.HasPrefix(before, "-") && !strings.Contains(before, "=")
		if strings.HasSuffix(c.words[i].text, ".py") && !value {
			own.words = c.words[:i]
			break
		}
	}
	return &own
}

// launcherNodes: torchrun and its kin wait for as many nodes as they are told, and one
// that comes too late is turned away.
func (s *script) launcherNodes(c *command, nodes int) {
	w, ok := c.flag("nnodes", "num-machines", "num-nodes")
	if !ok {
		s.placeForOne(c, nodes)
	}
	if !ok || !w.known() {
		return
	}
	least, _, _ := strings.Cut(w.text, ":") // 2:4 of torchrun's is from 2 to 4
	n := number(least)
	switch {
	case strings.HasPrefix(c.name, "deepspeed"): // it takes fewer hosts where there are no more
		if n > nodes {
			s.warnf("script/launcher-nodes", w.Place, "deepspeed is told %s, and the job has %d", count.Of(n, "node"), nodes).WithHint("--num_nodes=$SLURM_NNODES")
		}
	case !s.meetsNone(c, nodes):
	case n > nodes:
		s.errorf("script/launcher-nodes", w.Place, "%s waits for %s, and is started on %d: it gives up when the rendezvous times out", s.called(c), count.Of(n, "node"), nodes).
			WithHint("%s", s.nodesHint(c, nodes))
	case n > 1 && n < nodes && least == w.text:
		s.errorf("script/launcher-nodes", w.Place, "%s is for %s, and is started on %d: those that come last find no place", s.called(c), count.Of(n, "node"), nodes).
			WithHint("%s", s.nodesHint(c, nodes))
	}
}

// placeForOne: torchrun without --nnodes is for one node, also where it is told a place to meet the others. The first one there trains alone,
// and the others wait until it ends, and fail (tried with PyTorch 1.13).
func (s *script) placeForOne(c *command, nodes int) {
	backend, _ := c.flag("rdzv-backend")
	if nodes < 2 || !c.torch() || !backend.is("c10d") || c.hasOption("standalone") || c.mayHaveMore() || s.setsPET() || s.toldApart(c.srun) {
		return
	}
	s.errorf("script/launcher-nodes", c.Place, "%s is for 1 node without --nnodes, and is started on %d: the first trains alone, and the others wait for it to end",
		s.called(c), nodes).WithHint("%s", s.nodesHint(c, nodes))
}

// nodesHint is how a launcher is told the nodes that it is started on.
func (s *script) nodesHint(c *command, nodes int) string {
	told := "--nnodes="
	if c.name == "accelerate" {
		told = "--num_machines="
	}
	if nodes == s.job.minNodes {
		return told + "$SLURM_NNODES"
	}
	return told + strconv.Itoa(nodes)
}

// launcherProcesses holds the number of all processes that accelerate is told to the GPUs.
func (s *script) launcherProcesses(c *command, nodes int) {
	w, ok := c.flag("num-processes")
	n, known := w.number()
	if c.name != "accelerate" || !ok || !known || s.job.gpuCount == 0 {
		return
	}
	if machines, told := c.flag("num-machines"); told && !s.meetsNone(c, nodes) { // its processes are on those, too
		all, known := machines.number()
		if !known {
			return
		}
		nodes = max(nodes, all)
	}
	if gpus := nodes * s.job.gpuCount; n > gpus {
		s.errorf("script/launcher-nodes", w.Place, "%s for the %d GPUs of %s", count.Of(n, "process"), gpus, count.Of(nodes, "node")).
			WithHint("--num_processes=%d", gpus)
	}
}

// meetingPlaces are options of torchrun's that say where its nodes meet.
var meetingPlaces = []string{"rdzv-endpoint", "rdzv-conf", "master-addr"}

// rendezvous: torchrun reads no MASTER_ADDR. Without an option, each node meets at
// 127.0.0.1 (torch/distributed/run.py).
func (s *script) rendezvous(c *command, nodes int) {
	if nodes > 1 && c.torch() && c.hasOption("standalone") {
		s.standsAlone(c)
	}
	if nodes < 2 || !c.torch() || c.hasOption("standalone") || c.mayHaveMore() || s.setsPET() {
		return
	}
	n, told := c.flag("nnodes")
	if !told || n.is("1", "1:1") {
		return
	}
	if _, ok := c.flag(meetingPlaces...); ok {
		return
	}
	s.errorf("script/rendezvous", c.Place, "%s is not told where its nodes meet, and reads no MASTER_ADDR: each node waits at its own 127.0.0.1", s.called(c)).
		WithHint("--rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29500")
}

// standsAlone: with --standalone, each torchrun meets at a port of its own, and waits there for as many as it is told.
func (s *script) standsAlone(c *command) {
	w, _ := c.flag("nnodes")
	least, _, _ := strings.Cut(w.text, ":")
	if n := number(least); w.known() && n > 1 {
		s.errorf("script/rendezvous", w.Place, "%s with --standalone meets no other node, and waits for %s", s.called(c), count.Of(n, "node")).
			WithHint("--rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29500 instead of --standalone")
	}
}

// setsPET tells whether torchrun's options are set as variables (PET_NAME).
func (s *script) setsPET() bool {
	return slices.ContainsFunc(s.variables, func(v *variable) bool { return strings.HasPrefix(v.name, "PET_") })
}

// hasOption tells whether a program is given a long option.
func (c *command) hasOption(name string) bool {
	return slices.ContainsFunc(c.args(), func(w word) bool {
		given, _, _ := strings.Cut(w.text, "=")
		return strings.HasPrefix(given, "-") && optionName(given) == name
	})
}

// mayHaveMore tells whether a variable may bring options along that are not known.
func (c *command) mayHaveMore() bool {
	args := c.args()
	for i, w := range args {
		value := i > 0 && strings.HasPrefix(args[i-1].text, "-") && !strings.Contains(args[i-1].text, "=")
		if !w.known() && !strings.HasPrefix(w.text, "-") && !value {
			return true
		}
	}
	return false
}

var (
	// random is what another run has another value of.
	random      = pattern.New(`\$\{?RANDOM\b|\$\(\([^)]*\bS?RANDOM\b|\bshuf\b|\buuidgen\b|\$\$|/dev/u?random|\bdate \+%(s|N)|\.bind\(`)
	meetingName = pattern.New(`^(MASTER_PORT|MASTER_ADDR|PET_RDZV_\w+|RDZV_\w+)$`)
)

// randomInTask finds values by which tasks are to meet, and which each makes for itself.
func (s *script) randomInTask() {
	for _, v := range s.variables {
		if v.task() && meetingName().MatchString(v.name) && random().MatchString(v.raw) && s.stepOf(v.srun).tasks > 1 && !s.tasksStayApart(v.srun) {
			s.errorf("script/random-in-task", v.Place, "each of the %d tasks makes a %s of its own, so that they never meet", s.stepOf(v.srun).tasks, v.name).
				WithHint("set it before srun, as in MASTER_PORT=$((20000 + SLURM_JOB_ID %% 10000))")
		}
	}
	for _, c := range s.commands {
		if !c.task() || !c.launches() || c.toldOneNode() || s.stepOf(c.srun).tasks < 2 {
			continue
		}
		for _, name := range []string{"master-port", "rdzv-id", "rdzv-endpoint", "main-process-port"} {
			w, ok := c.withoutProgram().flag(name)
			if ok && w.start == 0 && s.randomIn(w.raw, c.srun) {
				s.errorf("script/random-in-task", w.Place, "each of the %d tasks makes a --%s of its own, so that they never meet", s.stepOf(c.srun).tasks, name).
					WithHint("set it before srun, as in $((20000 + SLURM_JOB_ID %% 10000)), or take $SLURM_JOB_ID")
			}
		}
	}
}

// randomIn tells whether a text in a task has a value that each task makes for itself, also by a variable that it sets.
func (s *script) randomIn(raw string, srun *command) bool {
	return random().MatchString(raw) || slices.ContainsFunc(expansionsIn(raw), func(e expansion) bool {
		return slices.ContainsFunc(s.assigned(e.name), func(v *variable) bool { return v.task() && v.srun == srun && random().MatchString(v.raw) })
	})
}

// tasksStayApart tells whether the tasks of a step do not look for each other: a launcher in each is told that it is alone, or each has a GPU of
// its own and meets at its own node.
func (s *script) tasksStayApart(srun *command) bool {
	sets := func(name string, fits func(*variable) bool) bool {
		return slices.ContainsFunc(s.assigned(name), func(v *variable) bool { return v.task() && v.srun == srun && fits(v) })
	}
	return slices.ContainsFunc(s.commands, func(c *command) bool { return c.srun == srun && c.launches() && c.toldOneNode() }) ||
		sets("CUDA_VISIBLE_DEVICES", func(*variable) bool { return true }) && sets("MASTER_ADDR", func(v *variable) bool { return ofItsNode(v.text) })
}

func ofItsNode(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// unstartedTasks: on one node, too, tasks are started by srun only. A program that finds
// SLURM_NTASKS takes itself for one of them, and waits for the others.
func (s *script) unstartedTasks() {
	tasks := s.job.taskCount()
	if tasks < 2 || !s.job.exact || s.job.minNodes != 1 || s.job.gpuCount < 2 || !s.setsTasks() || s.spreads() || s.runsItself() {
		return
	}
	if c := s.firstTraining(); c != nil && !c.launches() && c.outer == nil {
		s.warnf("script/unstarted-tasks", c.Place, "the job has %s, and nothing starts them: %s runs once, and may wait for the others", count.Of(tasks, "task"), s.called(c)).
			WithHint("start it with srun, or ask for --ntasks-per-node=1")
	}
}
