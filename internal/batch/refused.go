package batch

import (
	"slices"
	"strings"
)

// What sbatch refuses before it looks at the cluster: values that it cannot read, and
// options that exclude or need each other. Slurm's language is that of its versions
// 22.05 to 25.11 together: what one of them takes is no mistake. testdata/slurm-22.05.8
// has what a real sbatch said.

// refusedRules are about options as one of them and all of them together.
func refusedRules(s *script) {
	if s.parts {
		return
	}
	for _, name := range lateOptions() {
		if o, ok := s.option(name); ok {
			s.checkValue(o)
		}
	}
	s.pairs(s.options)
	for _, c := range s.named("srun") {
		s.pairs(c.options)
	}
}

// lateOptions are those that slurmctld reads, so that the last of several is all that
// counts. sbatch itself reads every one.
func lateOptions() []string {
	return []string{"array", "gres", "gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket"}
}

// checkValue reports a value that sbatch or srun cannot read.
func (s *script) checkValue(o Option) {
	f, ok := formOf(o.Name)
	if !ok || o.missing || o.emptied() || strings.ContainsAny(o.Value, "$`"+string(hole)) || f.reads(o.Value) {
		return
	}
	d := s.errorf("script/option-value", s.at(o), "%s is %s: Slurm refuses it", o.written(), f.not)
	if f.hint != "" {
		d.WithHint("%s", f.hint)
	}
}

// pairs reports options that Slurm does not take together.
func (s *script) pairs(given []Option) {
	last := func(name string) (Option, bool) {
		for _, o := range slices.Backward(given) {
			if o.Name == name {
				return o, true
			}
		}
		return Option{}, false
	}
	for _, alone := range exclusions() {
		var first Option
		for _, name := range alone {
			o, ok := last(name)
			switch {
			case ok && first.Name != "":
				s.errorf("script/option-pair", s.at(o), "%s cannot stand beside %s: Slurm refuses it", o.written(), first.written()).
					WithHint("keep one of them")
			case ok:
				first = o
			}
		}
	}
	if low, ok := last("time-min"); ok {
		if high, ok := last("time"); ok && minutesIn(high.Value) > 0 && minutesIn(low.Value) > minutesIn(high.Value) {
			s.errorf("script/option-pair", s.at(low), "%s is more than %s: Slurm refuses it", low.written(), high.written())
		}
	}
}

// exclusions are options of which there may be one (Slurm's slurm_opt.c and gres.c).
func exclusions() [][]string {
	return [][]string{
		{"mem", "mem-per-cpu", "mem-per-gpu"},
		{"ntasks-per-gpu", "ntasks-per-node"},
		{"ntasks-per-gpu", "gpus-per-task"},
		{"ntasks-per-gpu", "gpus-per-socket"},
		{"cpus-per-gpu", "cpus-per-task"},
		{"core-spec", "thread-spec"},
	}
}

// lonelyRules find options that need others. sbatch's own variables (SBATCH_GPUS), in the
// environment of the submission, are not known and do not count.
func (s *script) lonelyRules() {
	if s.parts {
		return
	}
	gpus := s.has("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres", "tres-per-task")
	for _, need := range []struct {
		name, hint string
		met        bool
	}{
		{"gpus-per-task", "--ntasks=N, or --gpus=N for the whole job", s.has("gpus", "ntasks", "ntasks-per-node", "nodes")},
		{"gpus-per-socket", "--sockets-per-node=N", s.has("sockets-per-node", "extra-node-info")},
		{"mem-per-gpu", "--gpus-per-node=N", gpus},
		{"ntasks-per-gpu", "--gpus-per-node=N", gpus || s.has("ntasks", "nodes")},
	} {
		if o, ok := s.option(need.name); ok && !need.met && strings.Trim(o.Value, "0") != "" {
			s.errorf("script/option-pair", s.at(o), "%s stands alone, which Slurm refuses", o.written()).WithHint("add %s", need.hint)
		}
	}
}
