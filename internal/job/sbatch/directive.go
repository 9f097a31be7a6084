package sbatch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/job/jobfile"
	"github.com/muster-hpc/muster/internal/say/count"
)

func (w writer) head() {
	w.say("#!/bin/bash")
	w.say("# Made by muster of a job file: change that, and make this anew.")
	w.say("# shellcheck disable=SC2016 # what stands in single quotes is for the tasks to expand, or for nobody")
}

// directives are sbatch's options.
func (w writer) directives() {
	s, j := w.shape, w.job
	share := "Nodes"
	if !s.whole {
		share = "GPUs"
	}
	w.option("Job", "job-name", j.Name)
	w.option("Queue", "partition", s.queue.Name)
	w.option("Constraint", "constraint", s.constraint)
	w.option("Account", "account", j.Account)
	w.option("QoS", "qos", j.QoS)
	w.option(share, "nodes", strconv.Itoa(s.nodes+s.spares))
	if s.spares > 0 {
		w.add("Spares", "#SBATCH --no-kill")
	}
	w.option(share, "ntasks-per-node", strconv.Itoa(s.tasks))
	w.option(share, "cpus-per-task", strconv.Itoa(s.cpus))
	if s.gpus > 0 {
		w.option(share, "gpus-per-node", strconv.Itoa(s.gpus))
	}
	switch {
	case s.whole && w.facts.MemoryScheduling:
		w.option(share, "mem", "0")
	case s.memoryMiB > 0:
		w.option(share, "mem", strconv.Itoa(s.memoryMiB)+"M")
	}
	if s.whole {
		w.add(share, "#SBATCH --exclusive")
	}
	w.option("Time", "time", j.Time)
	if seconds := notice(j); seconds > 0 {
		w.option("Time", "signal", fmt.Sprintf("B:USR1@%d", seconds))
	}
	w.say("#SBATCH --requeue\n#SBATCH --open-mode=append")
	w.option("Logs", "output", strings.ReplaceAll(j.Logs, "%", "%%")+"/%x-%j.out")
}

// option adds a line for sbatch; without a value there is none.
func (w writer) option(path, name, value string) {
	if value != "" {
		w.add(path, "#SBATCH --"+name+"="+bare(value))
	}
}

// bare is a value of an #SBATCH line, which sbatch splits at blanks as a shell does. Job
// files have no quotes in such values.
func bare(value string) string {
	if strings.ContainsAny(value, " \t|&()*[]") {
		return `"` + value + `"`
	}
	return value
}

// keys are those of the job file for options of #MUSTER lines.
var keys = map[string]string{
	"checkpoints": "Checkpoints", "restarts": "Restarts", "on-failure": "OnFailure", "hang": "Hang", "on-hang": "OnHang",
	"start-up": "StartUp", "log-pattern": "LogPattern", "model": "Model", "no-drain": "NoDrain",
}

// policy are the lines that say what becomes of the job when it fails or hangs. Restarts and
// Hang stand there for the reader, too, where they are the usual ones.
func (w writer) policy() {
	p := w.job.Policy
	words := p.Words()
	for _, usual := range []string{"--restarts=" + strconv.Itoa(p.Restarts), "--hang=" + p.Hang.String()} {
		if !slices.Contains(words, usual) {
			words = append(words, usual)
		}
	}
	for _, word := range words {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		w.add(keys[name], "#MUSTER "+option(word))
	}
}

// option is a word whose name stands without quotes.
func option(word string) string {
	name, value, has := strings.Cut(word, "=")
	if !has {
		return name
	}
	return name + "=" + quoted(value)
}

// notice is how many seconds before its time is over a job is told: not more than a tenth of
// it, but ten seconds for a checkpoint. Slurm sends the signal up to a minute earlier. A short job is told, too, since one that
// has no --signal is not told of having to make room, either.
func notice(j *jobfile.Job) int {
	const most, least, part = 300, 10, 10
	seconds := jobfile.Minutes(j.Time) * 60
	if seconds == 0 {
		return 0
	}
	return min(most, max(least, seconds/part))
}

// begin says what the job is, and which run of it this is.
func (w writer) begin() {
	s := w.shape
	of := ""
	if s.instance() != "" {
		of = " of " + s.instance()
	}
	size := count.Of(s.nodes, "node") + of
	if !s.whole {
		size = fmt.Sprintf("%s of a node%s, which other jobs may share", count.Of(s.gpus, "GPU"), of)
	}
	if s.spares > 0 {
		size += fmt.Sprintf(", and %d to spare", s.spares)
	}
	w.say("\n# %s; %s on each.", size, count.Of(s.ranks, "rank"))
	w.say("set -euo pipefail")
	if s.spares > 0 {
		return
	}
	w.say("attempt=$((${SLURM_RESTART_COUNT:-0} + 1))")
	w.say(`echo "Job $SLURM_JOB_ID, attempt $attempt, on $SLURM_JOB_NODELIST"`)
}

// places are the directories of the job.
func (w writer) places() {
	j := w.job
	w.say("")
	if w.shape.spares == 0 {
		w.say("# What this run leaves beside its log: what its ranks say of errors, and what NCCL did if it hangs.")
		w.add("Logs", "run="+quoted(j.Logs+"/")+"$SLURM_JOB_ID.$attempt")
		w.add("Logs", `mkdir -p "$run"`)
	}
	if j.Checkpoints != "" {
		w.add("Checkpoints", "mkdir -p "+quoted(j.Checkpoints))
	}
	for _, dir := range j.Data {
		w.add("Data", fmt.Sprintf("[[ -d %s ]] || { echo %s >&2; exit 1; }", quoted(dir), quoted("There is no directory "+dir)))
	}
}
