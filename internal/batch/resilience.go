package batch

import (
	"regexp"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// resilienceRules are about what a job loses when a node fails, or when its time
// is over.
func resilienceRules(s *script) {
	s.logsLost()
	s.leftOut()
	s.untrapped()
	if !s.trains() {
		return
	}
	s.requeued()
	s.unchecked()
	s.signals()
	s.checkpoints()
}

// leftOut reports nodes that are left out by their names.
func (s *script) leftOut() {
	for _, o := range s.directives {
		if o.Name == "exclude" && o.Value != "" {
			s.infof("script/exclude", o.Place, "%s: a node keeps its name when its machine is replaced, and the job leaves out a good one", o.written()).
				WithHint("set the node down for all jobs: scontrol update NodeName=%s State=DRAIN Reason=bad", o.Value)
		}
	}
}

var (
	training = pattern.New(`\btorchrun\b|torch\.distributed\.(run|launch)\b|\bdeepspeed\b|\baccelerate launch\b|` +
		`\bcomposer\b|(^|[/ _-])(pre|post)?(train|training|finetune|sft)\w*\.py\b`)
	resuming  = pattern.New(`(?i)resum|restart|restore|checkpoint|ckpt|(^|[^a-z])load([^a-z]|$)|latest|continue`)
	saving    = pattern.New(`(?i)resum|restore|checkpoint|ckpt|save|output_?-?dir|root_dir|snapshot`)
	preflight = pattern.New(`dcgmi|nvidia-smi|nccl-tests|_perf\b|(?i)pre-?flight|health|sanity|burn|verify`)
	deadlines = pattern.New(`(?i)exit[-_](duration|signal)|SLURM_JOB_END_TIME|time[-_]limit|max[-_]?(time|hours|duration)|wall[-_]?(time|clock)`)
)

// trains tells whether the job trains a model, and does not only measure.
func (s *script) trains() bool { return s.says(training()) && !s.measures() }

// says tells whether a word, a name of a variable or a comment of the script
// matches. Comments are left out: they do nothing.
func (s *script) says(p *regexp.Regexp) bool {
	for _, v := range s.variables {
		if p.MatchString(v.name) {
			return true
		}
	}
	for _, c := range s.commands {
		if c.outer == nil && p.MatchString(c.line()) {
			return true
		}
	}
	return slices.ContainsFunc(s.words, func(w word) bool { return p.MatchString(w.text) || w.raw != w.text && p.MatchString(w.raw) })
}

// line is a command's words with blanks between.
func (c *command) line() string {
	var all []string
	for _, w := range c.words {
		all = append(all, w.text)
	}
	return strings.Join(all, " ")
}

// reading tells whether the script runs other scripts, which may do anything.
func (s *script) reading() bool {
	return slices.ContainsFunc(s.commands, func(c *command) bool {
		return (c.name == "source" || c.name == ".") && !strings.HasSuffix(c.line(), "/activate")
	})
}

// scale is where the number of nodes is asked for, or the first line.
func (s *script) scale() diag.Place {
	if s.job.nodes.Place.Line > 0 {
		return s.job.nodes.Place
	}
	return s.file.place(0)
}

// largeNodes is the number of nodes from which on good practices are reported.
const largeNodes = 8

// requeued is about a job that runs again after a failure.
func (s *script) requeued() {
	o, requeue := s.option("requeue")
	switch {
	case requeue && !s.says(resuming()) && !s.reading():
		s.warnf("script/resume", o.Place, "the job may run a second time, and nothing here says where training goes on").
			WithHint("give the program its newest checkpoint, for example --load /fsx/checkpoints")
	case !requeue && s.job.minNodes >= largeNodes && !s.has("no-requeue"):
		s.infof("script/requeue", s.scale(), "whether the job runs again after a node fails is left to the cluster's configuration").
			WithHint("#SBATCH --requeue, or --no-requeue if it must not run twice")
	}
}

// logsLost is about the log of the attempt that failed.
func (s *script) logsLost() {
	o, requeue := s.option("requeue")
	if mode, ok := s.option("open-mode"); !requeue || ok && strings.HasPrefix(mode.Value, "a") {
		return
	}
	if out, ok := s.option("output"); ok && out.Value == "/dev/null" {
		return
	}
	s.warnf("script/open-mode", o.Place, "when the job runs again, Slurm empties its log, with the reason of the failure").
		WithHint("#SBATCH --open-mode=append")
}

// unchecked is about a large job that begins without a look at its nodes.
func (s *script) unchecked() {
	if s.job.minNodes >= largeNodes && s.job.gpuCount > 0 && !s.says(preflight()) && !s.reading() {
		s.infof("script/preflight", s.scale(), "one bad GPU of %d stops or slows the whole job, and nothing looks at them first", s.job.minNodes*s.job.gpuCount).
			WithHint("srun --ntasks=$SLURM_NNODES --ntasks-per-node=1 dcgmi diag -r 1, before training begins")
	}
}
