package batch

import (
	"slices"
	"strconv"

	"github.com/muster-hpc/muster/internal/diag"
)

// optionVariables are variables that Slurm sets for a batch script only where the job has
// one of some options (sbatch(1), OUTPUT ENVIRONMENT VARIABLES; src/common/env.c).
var optionVariables = map[string][]string{
	"SLURM_CPUS_PER_TASK":     {"cpus-per-task", "tres-per-task"},
	"SLURM_CPUS_PER_GPU":      {"cpus-per-gpu"},
	"SLURM_GPUS":              {"gpus"},
	"SLURM_GPUS_PER_NODE":     {"gpus-per-node"},
	"SLURM_GPUS_PER_TASK":     {"gpus-per-task", "tres-per-task"},
	"SLURM_GPUS_PER_SOCKET":   {"gpus-per-socket"},
	"SLURM_NTASKS_PER_NODE":   {"ntasks-per-node"},
	"SLURM_NTASKS_PER_CORE":   {"ntasks-per-core"},
	"SLURM_NTASKS_PER_SOCKET": {"ntasks-per-socket"},
	"SLURM_NTASKS_PER_GPU":    {"ntasks-per-gpu"},
	"SLURM_MEM_PER_CPU":       {"mem-per-cpu"},
	"SLURM_MEM_PER_GPU":       {"mem-per-gpu"},
	"SLURM_THREADS_PER_CORE":  {"threads-per-core"},
}

// unsetVariables finds variables that the script reads and Slurm does not set, since the
// job lacks their option.
func (s *script) unsetVariables() {
	if s.parts || s.shell == "" {
		return
	}
	said, known, printed := map[string]bool{}, map[string]bool{}, s.printedWords()
	for name, options := range optionVariables {
		known[name] = s.meant(options...) || s.setsItself(name)
	}
	for _, w := range s.words {
		if w.role == operand || w.role == listed || s.inTask(w.context) || printed[w.Place] {
			continue
		}
		for _, e := range expansionsIn(w.raw) {
			options := optionVariables[e.name]
			if options == nil || known[e.name] {
				continue
			}
			at := s.within(w, e.at)
			key := e.name + strconv.Itoa(at.Line)
			if said[key] {
				continue
			}
			said[key] = true
			what := "it is empty"
			if e.counted {
				what = "it counts as 0"
			}
			s.warnf("script/unset-variable", at, "Slurm sets %s only with --%s, which the job does not have: %s", e.name, options[0], what).
				WithHint("#SBATCH --%s=N, or ${%s:-N}", options[0], e.name)
		}
	}
}

// setsItself tells whether the script sets a variable, or asks whether it is set.
func (s *script) setsItself(name string) bool {
	tested := slices.ContainsFunc(s.named("[", "test"), func(c *command) bool {
		return slices.ContainsFunc(c.args(), func(w word) bool { return expands(w.raw, name) })
	})
	return tested || len(s.assigned(name)) > 0 || slices.ContainsFunc(s.words, func(w word) bool {
		return (w.role == operand || w.role == listed) && expands(w.raw, name) || slices.ContainsFunc(expansionsIn(w.raw), func(e expansion) bool { return e.name == name && e.guarded })
	})
}

// printedWords are the places of words that commands print.
func (s *script) printedWords() map[diag.Place]bool {
	all := map[diag.Place]bool{}
	for _, c := range s.named("echo", "printf", "logger") {
		for _, w := range c.words {
			all[w.Place] = true
		}
	}
	return all
}
