package batch

import (
	"slices"
	"strings"
)

// hostFileOptions name a file with the hosts that a launcher reaches itself.
func hostFileOptions(launcher string) []string {
	switch launcher {
	case "deepspeed":
		return []string{"hostfile", "H"}
	case "mpirun", "mpiexec", "orterun":
		return []string{"hostfile", "machinefile", "default-hostfile"}
	case "mpiexec.hydra":
		return []string{"hostfile", "machinefile", "f"}
	case "horovodrun":
		return []string{"hostfile"}
	}
	return nil
}

// hostOptions name the hosts themselves.
func hostOptions(launcher string) []string {
	switch launcher {
	case "mpirun", "mpiexec", "orterun", "mpiexec.hydra", "horovodrun":
		return []string{"H", "host", "hosts"}
	}
	return nil
}

// fixedHosts finds hosts that were written down before Slurm chose the job's nodes: the ranks start beside the jobs of others, or nowhere.
func (s *script) fixedHosts() {
	for _, c := range s.commands {
		if w, ok := c.flag(hostFileOptions(c.name)...); ok && w.known() && !s.makesFile(w.text, c) {
			s.warnf("script/fixed-hosts", w.Place, "%s starts the ranks on the hosts in %s, which nothing in the script writes: they may not be the job's nodes", c.name, w.text).
				WithHint("%s", hostsOfJob(c.name))
		}
		if w, ok := c.flag(hostOptions(c.name)...); ok && w.known() && !onlyHere(w.text) {
			s.warnf("script/fixed-hosts", w.Place, "%s starts the ranks on %s, which may not be nodes of the job", c.name, w.text).
				WithHint("%s", hostsOfJob(c.name))
		}
	}
}

// hostsOfJob says how a launcher comes to the job's nodes. Those of MPI ask Slurm themselves.
func hostsOfJob(launcher string) string {
	switch launcher {
	case "deepspeed":
		return `before it: scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s/$/ slots=$SLURM_GPUS_ON_NODE/" >"hosts.$SLURM_JOB_ID"`
	case "horovodrun":
		return `--hosts "$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s/$/:$SLURM_GPUS_ON_NODE/" | paste -sd,)"`
	}
	return "leave it out: " + launcher + " takes the nodes of the job from Slurm"
}

// makesFile tells whether something before a command may write a file: output that goes there, a program that is given its name, or a script
// that is not seen.
func (s *script) makesFile(name string, by *command) bool {
	same := func(w word) bool { return w.text == name || !w.known() && w.role == written }
	return slices.ContainsFunc(s.commands[:by.index], func(c *command) bool {
		return s.unseen(c) || slices.ContainsFunc(c.files, func(w word) bool { return w.role == written && same(w) }) ||
			slices.ContainsFunc(c.args(), func(w word) bool { return w.text == name })
	})
}

// onlyHere tells whether hosts are the node itself.
func onlyHere(hosts string) bool {
	for host := range strings.SplitSeq(hosts, ",") {
		host, _, _ = strings.Cut(host, ":")
		if host != "localhost" && host != "127.0.0.1" {
			return false
		}
	}
	return true
}
