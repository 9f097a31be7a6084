package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// slurmRules are about the script's use of Slurm itself while the job runs.
func slurmRules(s *script) {
	if s.parts || s.shell == "" {
		return
	}
	s.slurmInContainer()
	s.masterFallback()
	s.ownDirectory()
	s.arrayNumber()
	s.unsetVariables()
}

// slurmCommands are Slurm's programs.
var slurmCommands = []string{"scontrol", "squeue", "sinfo", "sacct", "srun", "sbatch", "salloc", "scancel", "sattach", "sbcast"}

// slurmInContainer: images for training have none of Slurm's programs.
func (s *script) slurmInContainer() {
	for _, c := range s.commands {
		o := c.contained()
		if o == nil || o == c || !slices.Contains(slurmCommands, c.name) || s.mountsSlurm(o) {
			continue
		}
		s.warnf("script/container-slurm", c.Place, "%s runs in a container, and images rarely have Slurm's programs", c.name).
			WithHint("call it before %s, and hand its answer on in a variable", o.name)
	}
}

// mountsSlurm tells whether a container is given Slurm's programs of the node.
func (s *script) mountsSlurm(o *command) bool {
	return slices.ContainsFunc(o.own(), func(w word) bool {
		return strings.Contains(w.text, "slurm") && (strings.Contains(w.text, ":") || strings.Contains(w.text, "mount")) || strings.Contains(w.text, "/usr/bin") || w.text == string(hole)
	})
}

// masterFallback: a command that falls back to localhost hides its failure, and each node
// of several becomes its own master.
func (s *script) masterFallback() {
	if !s.job.several() {
		return
	}
	for _, c := range s.commands {
		if c.name == "echo" && c.substituted && c.conditional && len(c.args()) == 1 && c.words[1].is("localhost", "127.0.0.1") {
			s.warnf("script/master-addr", c.Place, "where the command before it fails, each of the %d nodes takes itself for the master, and waits", s.job.minNodes).
				WithHint("let it fail: leave || %s out", "echo "+c.words[1].text)
		}
	}
}

// ownPath is how a script tells where it stands.
var (
	ownPath      = pattern.New(`\$(0\b|\{0\}|BASH_SOURCE\b|\{BASH_SOURCE(\[0\])?\})`)
	ownPathAlone = pattern.New(`^"?\$(0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(\[0\])?\})"?$`)
	ownPathCut   = pattern.New(`\$\{(0|BASH_SOURCE(\[0\])?)%%?/`)
)

// ownDirectory: sbatch copies the script, and the copy stands alone in a directory of
// slurmd's.
func (s *script) ownDirectory() {
	for _, c := range s.commands {
		if slices.Contains([]string{"dirname", "realpath", "readlink"}, c.name) && !c.task() && !c.maybe {
			for _, w := range c.args() {
				if ownPath().MatchString(w.raw) {
					s.spoolCopy(c.Place)
					break
				}
			}
		}
	}
	for _, c := range s.named("srun") { // the other nodes have no copy
		if s.job.several() && !c.task() && slices.ContainsFunc(c.words, func(w word) bool { return ownPathAlone().MatchString(w.raw) }) {
			s.spoolCopy(c.Place)
		}
	}
	for _, w := range s.words {
		if ownPathCut().MatchString(w.raw) && !w.task() && !w.maybe {
			s.spoolCopy(w.Place)
		}
	}
}

func (s *script) spoolCopy(at diag.Place) {
	s.warnf("script/spool-copy", at, "in a job the script is a copy of slurmd's, as in /var/spool/slurmd/job7/slurm_script: nothing else is in that directory, and other nodes do not have it").
		WithHint("$SLURM_SUBMIT_DIR is where sbatch was called; or write the path")
}

// jobNumber is the job's number alone; that of an array's last task is the array's.
var (
	jobNumber = pattern.New(`^"?\$\{?SLURM_JOB_?ID\}?"?$`)
	inTrap    = pattern.New(`\b(scontrol\s+requeue(?:hold)?|scancel)\s[^;&|]*"?\$\{?SLURM_JOB_?ID\b\}?`)
)

// arrayNumber finds what is meant for one task of an array and is done to all: the last
// task's SLURM_JOB_ID is the number of the array.
func (s *script) arrayNumber() {
	if _, array := s.option("array"); !array {
		return
	}
	for _, c := range s.commands {
		requeues := c.name == "scontrol" && len(c.args()) > 1 && strings.HasPrefix(c.words[1].text, "requeue")
		if (requeues || c.name == "scancel") && slices.ContainsFunc(c.args(), func(w word) bool { return jobNumber().MatchString(w.raw) }) {
			s.wholeArray(c.Place, c.name)
		}
		if c.name != "trap" || len(c.args()) == 0 {
			continue
		}
		if m := inTrap().FindStringSubmatch(c.words[1].raw); m != nil {
			s.wholeArray(c.Place, strings.Fields(m[1])[0])
		}
	}
}

func (s *script) wholeArray(at diag.Place, name string) {
	s.warnf("script/array-requeue", at, "the SLURM_JOB_ID of an array's last task is the array's own number: there, %s is for all of its tasks", name).
		WithHint("${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}")
}
