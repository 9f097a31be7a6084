package cli

import "strings"

// refusals are what sbatch says in few words of what a cluster does not have (src/common/slurm_errno.c), and what to do
// about it. Most of it is said of a line of the file before sbatch is asked; what comes here went past that by --force, by a
// limit that only Slurm knows, or because something changed meanwhile. Of several words the first row counts.
var refusals = []struct {
	says, then string
	// command is one that shows what there is, if there is one.
	command string
}{
	{"Required partition not available (inactive or drain)", "if the fleet is stopped, which COMMAND says, `muster fleet start` lets it run", "status"},
	{"nvalid partition name specified", "COMMAND lists the partitions", "exec -- sinfo --summarize"},
	{"Requested time limit is invalid (missing or exceeds some limit)", "ask for less, and go on from a checkpoint in the next job; COMMAND shows each partition's MaxTime, and an account or QoS may allow less", "exec -- scontrol show partition"},
	{"Node count specification invalid", "COMMAND shows how many nodes each partition has, and lets a job have (MinNodes, MaxNodes)", "exec -- scontrol show partition"},
	{"Requested partition configuration not available now", "fewer nodes are in service than the job asks for: COMMAND shows which", "nodes"},
	{"Invalid feature specification", "COMMAND shows the features of nodes, which --constraint names", "exec -- sinfo --format='%P %f'"},
	{"Invalid generic resource (gres) specification", "COMMAND shows what nodes have, such as gpu:h200:8", "exec -- sinfo --format='%P %G'"},
	{"Memory specification can not be satisfied", "COMMAND shows the memory of nodes in MiB; --mem=0 takes all", "exec -- sinfo --format='%P %m'"},
	{"CPU count per node can not be satisfied", "COMMAND shows the CPUs of nodes", "exec -- sinfo --format='%P %c'"},
	{"More processors requested than permitted", "COMMAND shows the CPUs of nodes", "exec -- sinfo --format='%P %c'"},
	{"Requested node configuration is not available", "no nodes have the CPUs, memory, GPUs and features together that the job asks of each: COMMAND shows what they have", "exec -- sinfo --format='%P %D %c %m %G %f'"},
	{"Invalid node name specified", "COMMAND lists the nodes", "nodes"},
	{"Requested nodes not in this partition", "COMMAND shows which partitions a node is in", "exec -- sinfo --Node"},
	{"User's group not permitted to use this partition", "COMMAND shows who may use it (AllowGroups)", "exec -- scontrol show partition"},
}

// wayOut adds to what sbatch says what to do about it, where that is known.
func (a *app) wayOut(refusal string) string {
	for _, r := range refusals {
		if strings.Contains(refusal, r.says) {
			then := strings.ReplaceAll(r.then, "`muster fleet start`", a.command("fleet start"))
			return refusal + "; " + strings.ReplaceAll(then, "COMMAND", a.command("%s", r.command))
		}
	}
	return refusal
}
