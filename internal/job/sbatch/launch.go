package sbatch

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/job/jobfile"
)

// preflight looks at the GPUs of each node. Nodes that are made out of one machine have no
// nvidia-smi, and one whose driver hangs gives no answer.
func (w writer) preflight() {
	if w.shape.gpus == 0 {
		return
	}
	look := fmt.Sprintf(`srun --overlap %s sh -c '
    command -v nvidia-smi >/dev/null || exit 0
    said=$(timeout --kill-after=5 60 nvidia-smi --list-gpus)
    case $? in
    124 | 137) unfit="shows none of $1 GPUs: nvidia-smi gave no answer within 60 s" ;;
    *)
        seen=$(printf "%%s\n" "$said" | grep -c "^GPU ")
        [ "$seen" -lt "$1" ] || exit 0
        unfit="shows $seen of $1 GPUs"
        ;;
    esac
    echo "$SLURMD_NODENAME $unfit" >&2%s
    exit 1' sh %d`, w.each(), w.told(), w.shape.gpus)
	if w.shape.spares > 0 {
		w.say("\n# A node that has lost a GPU would end the ranks later: they start without it, as if it had died.")
		w.say("%s", "local said\nsaid=$("+look+") || { unfit+=$'\\n'$said; return 1; }")
		return
	}
	w.say("\n# A node that has lost a GPU would end the job later.")
	w.say("%s", look)
}

// told is how a node says its name to a script that can do without it.
func (w writer) told() string {
	if w.shape.spares > 0 {
		return "\n    echo \"$SLURMD_NODENAME\""
	}
	return ""
}

// warning passes a signal on that Slurm sends before the time is over. It goes to the ranks
// that have a handler, by a step beside theirs: whoever has none would die of it, and a
// worker of a rank that has one is not asked for a checkpoint, too.
func (w writer) warning() {
	if notice(w.job) == 0 {
		return
	}
	w.say("\n# Slurm sends USR1 before the job's time is over, and before a job that is more urgent takes its place. It goes on to\n" +
		"# the ranks that have a handler for it, for a last checkpoint; the others would end of it.")
	w.say(`told=
# shellcheck disable=SC2317,SC2329 # the trap calls it
pass_on() {
    echo "The job is about to be stopped: USR1 goes to the ranks that wait for it"
    told+=$(srun --overlap %s sh -c '
        waits() {
            grep -q "^SigCgt:.*[2367abef]..$" "/proc/$1/status" && grep -qzx "SLURM_JOB_ID=$SLURM_JOB_ID" "/proc/$1/environ" &&
                grep -qz "^SLURM_STEP_ID=" "/proc/$1/environ" && ! grep -qzx "SLURM_STEP_ID=$SLURM_STEP_ID" "/proc/$1/environ"
        } 2>/dev/null
        ranks=
        for status in /proc/[0-9]*/status; do
            pid=${status#/proc/} pid=${pid%%/status}
            parent=$(sed -n "s/^PPid:[[:space:]]*//p" "$status" 2>/dev/null)
            if waits "$pid" && ! waits "$parent"; then ranks="$ranks $pid"; fi
        done
        [ -z "$ranks" ] || { kill -USR1 $ranks; echo told; }') || true
}
trap pass_on USR1`, w.each())
	w.early()
}

// early is the end of ranks that saved and ended with 0 when they were told: the job counted as completed, and would never go
// on. Whether it gets further in another run of its length is for the keeper, who would not hear of one that queues itself.
func (w writer) early() {
	w.say(`
# Ranks that were told and then ended are not done: the job goes on later. Slurm itself would count it as completed.
early() {
    [[ -n $told ]] || return 0
    if scontrol --oneliner show job "$SLURM_JOB_ID" | grep -q ' PreemptTime=[0-9]'; then
        echo "Job $SLURM_JOB_ID ended early: it makes room for another job"
        # Since 24.05 Slurm itself queues a job that ends so; one that queued itself would run once more than it has to.
        if [[ $(scontrol --version) == *" "2[0-3].* ]]; then scontrol requeue "$SLURM_JOB_ID"; fi
    else
        echo "Job $SLURM_JOB_ID ended early: its time was nearly over"
    fi
    exit 1
}`)
}

// reverseTreeWidth is how many nodes a step has at least in which slurmstepd waits, for 60 s and 3 s for each level, until the nodes
// below it in a tree have said that they are through, also those that are dead (REVERSE_TREE_WIDTH of src/common/reverse_tree.h, Slurm
// 22.05 to 25.11). On fewer nodes each tells slurmctld.
const reverseTreeWidth = 7

// launch starts the ranks, and is the one place that does.
func (w writer) launch() {
	then := "queues the job again"
	if w.shape.spares > 0 {
		then = "has taken it out of the job"
	}
	w.say("\n# %s", w.how())
	overlap := ""
	if s := w.shape; s.spares > 0 && s.nodes >= reverseTreeWidth {
		overlap = " --overlap"
		w.say("# For a minute the step that lost a node has what it had, although its tasks are gone: the ranks start beside it.")
	}
	w.say("# srun does not take --cpus-per-task from sbatch. Without --kill-on-bad-exit it waits until Slurm knows that a node is\n# lost, and %s.", then)
	parts := []part{{"Launcher", "srun" + overlap + w.label() + ` --cpus-per-task="$SLURM_CPUS_PER_TASK" --distribution=block`}}
	if s := w.shape; s.spares > 0 {
		parts = append(parts, part{"Nodes", fmt.Sprintf(`--nodes=%d --nodelist="$list" --ntasks=%d`, s.nodes, s.nodes*s.tasks)})
	}
	parts = append(parts, w.container()...)
	parts = append(parts, w.launcher()...)
	w.command(" &", append(parts, w.program()...)...)
	w.say("step=$!")
}

// label has srun say of each line which rank wrote it, where ranks are tasks and there are several.
func (w writer) label() string {
	if !perNode(w.job.Launcher) && w.shape.nodes*w.shape.ranks > 1 {
		return " --label"
	}
	return ""
}

// how says how the ranks are started.
func (w writer) how() string {
	switch {
	case torch(w.job.Launcher):
		return "One task on each node is torchrun, which starts its ranks; they are numbered in Slurm's order of the nodes."
	case w.job.Launcher == jobfile.Accelerate:
		return "One task on each node is accelerate, which starts its ranks; they are numbered in Slurm's order of the nodes."
	}
	return "Each rank is a task of Slurm's, numbered in its order of the nodes."
}

// container are srun's options for an image: it sees the file systems that all nodes share,
// and what else the job names.
func (w writer) container() []part {
	if w.job.Image == "" {
		return nil
	}
	var mounts []string
	covered := func(dir string) bool {
		return slices.ContainsFunc(mounts, func(m string) bool { return dir == m || strings.HasPrefix(dir, m+"/") })
	}
	for _, m := range w.facts.Mounts {
		if m.Kind != "" && m.Kind != "HeadNode" {
			mounts = append(mounts, m.Dir)
		}
	}
	dirs := append([]string{w.job.Logs, w.job.Checkpoints}, w.job.Data...)
	if w.job.Script != "" && !covered(w.job.Script) {
		dirs = append(dirs, path.Dir(w.job.Script))
	}
	for _, dir := range dirs {
		if dir != "" && !covered(dir) {
			mounts = append(mounts, dir)
		}
	}
	for i, m := range mounts {
		mounts[i] = m + ":" + m
	}
	mounts = append(mounts, w.job.Mounts...)
	parts := []part{
		{"Image", "--container-image=" + quoted(w.job.Image)},
		{"Mounts", "--container-mounts=" + quoted(strings.Join(mounts, ","))},
	}
	if own := w.ownVariables(); len(own) > 0 { // an image's would win otherwise
		parts = append(parts, part{"Environment", "--container-env=" + strings.Join(own, ",")})
	}
	return parts
}

// ownVariables are the names of the variables that the job itself sets.
func (w writer) ownVariables() []string {
	var names []string
	for _, v := range w.job.Environment {
		names = append(names, v.Name)
	}
	for _, s := range w.job.Secrets {
		names = append(names, s.Name)
	}
	return names
}

// launcher is what a task runs, up to the program.
func (w writer) launcher() []part {
	switch {
	case torch(w.job.Launcher):
		return []part{
			{"Python", fmt.Sprintf(`sh -c 'ranks=$1/$((SLURM_NODEID * %d)); shift; exec "$0" -m torch.distributed.run --node_rank="$SLURM_NODEID" --log_dir="$ranks" "$@"' `, w.shape.ranks) +
				quoted(w.job.Python) + ` "$run/ranks"`},
			{"Ranks", fmt.Sprintf(`--nnodes=%s --nproc_per_node=%d`, w.count(), w.shape.ranks)},
			{"", `--rdzv_backend=static --rdzv_id="$SLURM_JOB_ID.$attempt" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT"`},
			// Both streams would be 3, at which PyTorch 1.13 fails with Python 3.11: iterating over Std leaves its ALL out.
			{"Logs", "--redirects=2 --tee=2 --monitor_interval=0.5"},
		}
	case w.job.Launcher == jobfile.Accelerate:
		several := "--multi_gpu " // accelerate takes it for more than one process alone
		if w.shape.nodes*w.shape.ranks == 1 {
			several = ""
		}
		return []part{
			{"Python", `sh -c 'exec "$0" -m accelerate.commands.launch --machine_rank="$SLURM_NODEID" "$@"' ` + quoted(w.job.Python)},
			{"Ranks", several + fmt.Sprintf(`--num_machines=%s --num_processes=%s`, w.count(), w.processes())},
			{"", `--rdzv_backend=static --main_process_ip="$MASTER_ADDR" --main_process_port="$MASTER_PORT"`},
			{"Logs", `--log_dir="$run/ranks" --tee=2 --monitor_interval=0.5`},
		}
	}
	ranks := `sh -c 'export RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID" WORLD_SIZE="$SLURM_NTASKS"; exec "$@"' sh`
	if w.job.Module != "" || jobfile.Python(w.job.Script) {
		ranks += " " + quoted(w.job.Python)
	}
	return []part{{"Python", ranks}}
}

// program is what the ranks run. Options stand on lines of their own.
func (w writer) program() []part {
	first := part{"Script", quoted(w.job.Script)}
	if w.job.Module != "" {
		option := "-m "
		if torch(w.job.Launcher) || w.job.Launcher == jobfile.Accelerate {
			option = "--module "
		}
		first = part{"Module", option + quoted(w.job.Module)}
	}
	parts := []part{first}
	for i, a := range w.job.Arguments {
		if i == 0 || strings.HasPrefix(a, "-") {
			parts = append(parts, part{"Arguments", quoted(a)})
			continue
		}
		parts[len(parts)-1].words += " " + quoted(a)
	}
	return parts
}

// waiting waits for the ranks.
const waiting = `# A signal that is trapped ends wait, too; the last one has the exit code.
while kill -0 "$step" 2>/dev/null; do wait "$step" || true; done
status=0
wait "$step" || status=$?`

// end waits for the ranks, and ends as they did. A trap ends wait, which is why there are two.
func (w writer) end() {
	w.say("\n" + waiting + `
echo "Job $SLURM_JOB_ID, attempt $attempt, ended after $SECONDS s with exit code $status"`)
	if notice(w.job) > 0 {
		w.say("if ((status == 0)); then early; fi")
	}
	w.say(`exit "$status"`)
}
