package batch

import (
	"bytes"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// What a task or its node is told by that is its own: whoever writes one of these into the
// arguments wants another run in each task.
var ownPart = pattern.New(`SLURM_(PROCID|NODEID|LOCALID|TASK_PID)|SLURMD_NODENAME|(?i)hostname`)

// separateRuns finds launchers that srun starts on several nodes and that know of one only:
// each node then does all of the work alone.
func (s *script) separateRuns() {
	for _, c := range s.commands {
		if !c.launches() || !c.task() || !s.asksForGPUs() || s.measures() || preflight().MatchString(wordsOf(c)) {
			continue
		}
		st, launcher := s.stepOf(c.srun), c.withoutProgram()
		if st.nodes < 2 || st.perNode != 1 || !s.tellsOneNode(launcher) || s.toldApart(c.srun) {
			continue
		}
		hint := "--nnodes=$SLURM_NNODES --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29500"
		if c.name == "accelerate" {
			hint = "--num_machines $SLURM_NNODES --num_processes N for all nodes, --machine_rank $SLURM_NODEID in the task, --main_process_ip and --main_process_port"
		}
		if c.name == "deepspeed" {
			hint = "srun torchrun " + hint + " starts programs of DeepSpeed, too"
		}
		s.warnf("script/separate-runs", c.Place, "srun starts %s on %s, and each knows of its own node only: these are %d separate runs of the same",
			s.called(c), count.Of(st.nodes, "node"), st.nodes).WithHint("%s", hint)
	}
}

// deepspeedHosts is the file of hosts that deepspeed reads if it is not told another one, and if it is there (deepspeed/launcher/runner.py).
// Without it deepspeed takes the GPUs of its own node.
const deepspeedHosts = "/job/hostfile"

// tellsOneNode tells whether a launcher is told of no other node.
func (s *script) tellsOneNode(c *command) bool {
	if c.mayHaveMore() || s.setsPET() {
		return false
	}
	if _, meets := c.flag("rdzv-endpoint", "rdzv-conf", "master-addr", "main-process-ip", "config-file", "hostfile", "deepspeed-hostfile"); meets {
		return false
	}
	if c.name == "deepspeed" {
		return !c.handsOn() && !c.hasOption("no-ssh") && !bytes.Contains(s.file.data, []byte(deepspeedHosts))
	}
	n, told := c.flag("nnodes", "num-machines")
	return (c.torch() || c.name == "accelerate") && (!told || n.is("1", "1:1") || c.hasOption("standalone"))
}

// toldApart tells whether something in a step may differ from task to task.
func (s *script) toldApart(srun *command) bool {
	for _, w := range s.words {
		if w.srun == srun && ownPart().MatchString(w.raw) {
			return true
		}
	}
	for _, w := range srun.words {
		if ownPart().MatchString(w.raw) {
			return true
		}
	}
	return srun.has("multi-prog")
}
