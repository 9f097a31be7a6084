package sbatch

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/jobfile"
)

// spared reports what is wrong with a job's spares, or what they cost.
func (s *shape) spared(j *jobfile.Job, list *diag.List) {
	if s.spares == 0 {
		return
	}
	switch all := s.nodes + s.spares; {
	case !s.whole:
		list.Errorf("job/spares", "Spares", "Spares is %d, and the job has a part of one node", s.spares).WithHint("give Nodes instead of GPUs, or remove Spares")
	case s.nodes <= s.node.Count && all > s.node.Count:
		list.Errorf("job/spares", "Spares", "%d nodes and %d spare are %d, and queue %s has %d", s.nodes, s.spares, all, s.queue.Name, s.node.Count).
			WithHint("Spares: %d, or fewer Nodes", s.node.Count-s.nodes)
	default:
		s.cost(list.Infof("job/spares", "Spares", "the job holds %d nodes and trains on %d", all, s.nodes))
	}
}

// cost says what the spares cost, where nodes are paid for by the hour.
func (s *shape) cost(d *diag.Diagnostic) {
	price, known := catalog.OnDemand(s.instance())
	if known && s.queue.CapacityType == "ONDEMAND" {
		d.WithHint("a spare costs about %.2f USD an hour", price.USD)
	}
}

// choosing is how the script knows the nodes that the ranks run on.
func (w writer) choosing() {
	w.say("\n# Slurm takes a node that dies out of the job (--no-kill), and this script starts the ranks again on healthy ones. The job\n" +
		"# ends with the node of this script: that one is the spare as long as there is another.")
	w.say(`nodes=() unfit= # the ranks' nodes, and those that failed the look at their GPUs
choose() {
    local ill all
    ill=$(sinfo --noheader --Node --nodes="$SLURM_JOB_NODELIST" --states=down,drain,fail,no_respond --format=%%N) || return
    all=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%%N) || return
    ill+=$'\n'$unfit
    mapfile -t nodes < <(scontrol show hostnames "$all" | grep -vxF "$ill")
    if ((${#nodes[@]} > %[1]d)); then
        mapfile -t nodes < <(printf '%%s\n' "${nodes[@]}" | grep -vxF "$SLURMD_NODENAME")
    fi
    nodes=("${nodes[@]:0:%[1]d}")
    list=$(IFS=, && echo "${nodes[*]}")
}`, w.shape.nodes)
	w.say("\n# Whether a node of the ranks is not in the job any more: srun ends with 0 where all of its tasks went with their nodes.")
	w.say(`gone() {
    local left node
    left=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%%N) || return
    left=$(scontrol show hostnames "$left")
    for node in "${nodes[@]}"; do
        grep -qxF "$node" <<<"$left" || return 0
    done
    return 1
}`)
	w.say("\n# Whether the ranks ended because they lost a node: srun may know before Slurm says so.")
	w.say(`lost() {
    local had=$list
    for _ in {1..10}; do
        if choose && [[ $list != "$had" ]]; then return 0; fi
        sleep 0.5
    done
    return 1
}`)
}

// meet is what is new each time that the ranks start.
func (w writer) meet() {
	w.say("\n# Each start has its own directory beside the log, for what ranks say of errors, and its own port on the first of its nodes.")
	w.say("meet() {")
	w.indent = "    "
	w.say("attempt=$((${SLURM_RESTART_COUNT:-0} + 1)).$start")
	w.add("Logs", "run="+quoted(w.job.Logs+"/")+"$SLURM_JOB_ID.$attempt")
	w.add("Logs", `mkdir -p "$run"`)
	w.say("MASTER_ADDR=${nodes[0]}\nMASTER_PORT=$((10000 + 2 * ((SLURM_JOB_ID + start) %% 10000)))")
	if !torch(w.job.Launcher) {
		w.say("export MASTER_ADDR MASTER_PORT")
	}
	if w.shape.gpus > 0 {
		w.say(`export NCCL_RAS_ADDR="localhost:$((MASTER_PORT + 1))" TORCH_NCCL_DEBUG_INFO_TEMP_FILE="$run/nccl-rank-"`)
	}
	w.indent = ""
	w.say("}")
}

// train starts the ranks on the nodes that are chosen, and ends as they do.
func (w writer) train() {
	w.say("\ntrain() {")
	w.indent = "    "
	w.say("local step status=0")
	w.preflight()
	w.launch()
	w.say("\n" + waiting + "\nreturn \"$status\"")
	w.indent = ""
	w.say("}")
}

// starts is the loop: it goes round again for a node that was lost, and for nothing else.
func (w writer) starts() {
	early := ""
	if notice(w.job) > 0 {
		early = "early; "
	}
	w.say("\n# A start for the job, and one for each spare. Slurm may be starting anew.")
	w.say("for _ in {1..12}; do if choose; then break; fi; sleep 5; done")
	w.say(`for start in {1..%[2]d}; do
    if ((${#nodes[@]} < %[1]d)); then break; fi
    meet
    echo "Job $SLURM_JOB_ID, attempt $attempt, on $list"
    status=0
    train || status=$?
    echo "Job $SLURM_JOB_ID, attempt $attempt, ended after $SECONDS s with exit code $status"
    if ((status == 0)); then
        gone || { %[3]sexit 0; }
        status=1
    fi
    lost || exit "$status"
    echo "The job lost a node; ${#nodes[@]} of the %[1]d that it needs are healthy: $list"
done`, w.shape.nodes, w.shape.spares+1, early)
	w.say(`
if ((${SLURM_RESTART_COUNT:-0} < %d)); then
    echo "The job has too few healthy nodes, and goes back into the queue"
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "${status:-1}"`, w.job.Policy.Restarts)
}

// each are srun's options for one task on each node that ranks run on.
func (w writer) each() string {
	if w.shape.spares > 0 {
		return fmt.Sprintf(`--nodes=%[1]d --nodelist="$list" --ntasks=%[1]d --ntasks-per-node=1`, w.shape.nodes)
	}
	return `--ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1`
}

// count is how many nodes the ranks run on, as a word of the script.
func (w writer) count() string {
	if w.shape.spares > 0 {
		return fmt.Sprint(w.shape.nodes)
	}
	return `"$SLURM_JOB_NUM_NODES"`
}

// processes is how many ranks there are, as a word of the script.
func (w writer) processes() string {
	if w.shape.spares > 0 {
		return fmt.Sprint(w.shape.nodes * w.shape.ranks)
	}
	return fmt.Sprintf(`"$((SLURM_JOB_NUM_NODES * %d))"`, w.shape.ranks)
}
