package sbatch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/job/jobfile"
)

// meeting is where the ranks meet. Job IDs differ, also those of an array's tasks, and jobs
// that share a node have different GPUs: so no two of them have one port, but for IDs that
// are thousands apart. Ports below 32768 are not handed out to clients by Linux.
func (w writer) meeting() {
	w.say("\n# The ranks meet on the first node, at a port that no other job has there; the one behind it is for NCCL.")
	w.say(`MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)`)
	if w.shape.shareable() {
		w.say("gpu=${SLURM_JOB_GPUS:-0} # jobs that share a node have different ones\ngpu=${gpu%%%%[!0-9]*}")
		w.say("MASTER_PORT=$((10000 + 2 * (SLURM_JOB_ID %% 600 * 16 + gpu %% 16)))")
	} else {
		w.say("MASTER_PORT=$((10000 + 2 * (SLURM_JOB_ID %% 10000)))")
	}
	w.say(`taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
while taken "$MASTER_PORT" || taken "$((MASTER_PORT + 1))"; do
    MASTER_PORT=$((MASTER_PORT + 2))
done`)
	if !torch(w.job.Launcher) {
		w.say("export MASTER_ADDR MASTER_PORT")
	}
}

// environment is what the ranks find set: what the machines need, what the launcher's
// framework wants, and then the user's own, which wins.
func (w writer) environment() {
	if w.shape.gpus > 0 {
		w.network()
		w.framework()
	}
	w.threads()
	if len(w.job.Environment) > 0 {
		w.say("\n# The job's own.")
	}
	for _, v := range w.job.Environment {
		w.add("Environment."+v.Name, "export "+v.Name+"="+quoted(v.Value))
	}
}

// network is NCCL's. Where there is EFA, its plugin sets what the instance type needs: its
// platform-aws.cpp, since 1.16.
func (w writer) network() {
	s := w.shape
	on := "these nodes"
	if s.instance() != "" {
		on = s.instance()
	}
	switch {
	case s.nodes == 1:
		w.say("\n# All ranks are on one node, where NCCL needs nothing.")
	case s.node.EFA:
		w.say("\n# On %s the EFA plugin (aws-ofi-nccl 1.16 and newer) sets what NCCL needs; what is set here, it leaves as it is.", on)
	default:
		w.say("\n# The nodes talk over TCP: without EFA, NCCL finds its way on %s, and there is nothing to tune.", on)
	}
	own, dump := " NCCL_RAS_ADDR=\"localhost:$((MASTER_PORT + 1))\"", " TORCH_NCCL_DEBUG_INFO_TEMP_FILE=\"$run/nccl-rank-\""
	if s.spares > 0 {
		own, dump = "", "" // each start has its own
	}
	w.say("export NCCL_DEBUG=WARN%s", own)
	w.say("# If the ranks wait for each other too long, PyTorch writes down what each was doing.")
	w.say("export TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_NCCL_TRACE_BUFFER_SIZE=2000%s", dump)
}

// blackwell are GPUs on which Megatron-LM overlaps without CUDA_DEVICE_MAX_CONNECTIONS.
var blackwell = []string{"b200", "b300", "gb200", "gb300"}

// framework is what the launcher's framework wants.
func (w writer) framework() {
	switch w.job.Launcher {
	case jobfile.FSDP:
		w.say("# FSDP takes and gives back memory of many sizes; so the holes between can be used.")
		w.say("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
	case jobfile.Megatron:
		if !slices.Contains(blackwell, strings.ToLower(w.shape.node.GPU)) {
			w.say("# Megatron-LM's tensor parallelism sends while it computes only if kernels start in one order.")
			w.say("export CUDA_DEVICE_MAX_CONNECTIONS=1")
		}
	}
}

// threads divides the CPUs that Slurm gave among the ranks.
func (w writer) threads() {
	if w.shape.gpus == 0 {
		w.say("")
	}
	if by := w.shape.ranks / w.shape.tasks; by > 1 {
		n := strconv.Itoa(by)
		w.say("export OMP_NUM_THREADS=$((SLURM_CPUS_PER_TASK > %[1]s ? SLURM_CPUS_PER_TASK / %[1]s : 1))", n)
		return
	}
	w.say(`export OMP_NUM_THREADS="$SLURM_CPUS_PER_TASK"`)
}
