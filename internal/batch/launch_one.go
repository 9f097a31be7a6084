package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// oneNode finds what runs on the first node only, while the job has more: Slurm
// runs the batch script once (sbatch(1)).
func (s *script) oneNode() {
	if !s.job.several() || s.runsItself() {
		return
	}
	if s.launchersOnOne() || s.spreads() {
		return
	}
	if c := s.firstTraining(); c != nil {
		if trainingName().MatchString(wordsOf(c)) && s.certain(c.context) {
			s.idleBeside(c).WithHint("start it with srun")
		} else { // it may start something on the other nodes itself
			s.perhapsIdleBeside(c).WithHint("start it with srun")
		}
		return
	}
	at := s.job.nodes.Place
	if s.job.nodes.Name == "" {
		at = s.whole()
	}
	s.warnf("script/one-node", at, "nothing in the script starts anything on the other %s", strings.TrimSuffix(strings.TrimSuffix(idle(s.others()), " stay idle"), " stays idle")).
		WithHint("srun COMMAND runs it on all nodes")
}

// others is how many nodes the job has beside the first.
func (s *script) others() int { return s.job.minNodes - 1 }

// idleBeside reports a program that surely has one node alone, perhapsIdleBeside one that may be right so.
func (s *script) idleBeside(c *command) *diag.Diagnostic {
	return s.errorf("script/one-node", c.Place, "%s runs on the first node only, and the other %s", s.called(c), idle(s.others()))
}

func (s *script) perhapsIdleBeside(c *command) *diag.Diagnostic {
	return s.warnf("script/one-node", c.Place, "%s runs on the first node only, and the other %s", s.called(c), idle(s.others()))
}

// launchersOnOne reports launchers in the body of the script, and whether there are any. Beside a training on all nodes, an
// evaluation on one is right, and so is a branch for jobs of one node.
func (s *script) launchersOnOne() bool {
	found, training, elsewhere := false, s.trainsOnNodes(), s.launchedElsewhere()
	for _, c := range s.commands {
		if !c.launches() || c.task() || s.inTask(c.context) || c.under(distributors...) || c.handsOn() {
			continue
		}
		certain := s.certain(c.context)
		if s.uncalled(c.context) || training && !certain {
			continue
		}
		found = true
		if elsewhere && !c.toldOneNode() {
			continue
		}
		report := s.idleBeside
		if !certain || c.toldOneNode() || training && !s.waitsForOthers(c) {
			report = s.perhapsIdleBeside
		}
		report(c).WithHint("start it with srun, one on each node: srun --ntasks=$SLURM_NNODES --ntasks-per-node=1 %s ...", s.called(c))
	}
	return found
}

// launchedElsewhere tells whether the script starts a launcher on another node itself: by ssh and its like.
func (s *script) launchedElsewhere() bool {
	return slices.ContainsFunc(s.commands, func(o *command) bool {
		return o.name != "srun" && slices.Contains(distributors, o.name) && slices.ContainsFunc(o.words, func(w word) bool { return slices.Contains(launchers, w.text) })
	})
}

// toldOneNode tells whether a launcher is told that it is the only one of its run.
func (c *command) toldOneNode() bool {
	own := c.withoutProgram()
	w, given := own.flag("nnodes", "num-machines", "num-nodes")
	most := w.text[strings.LastIndex(w.text, ":")+1:]
	return given && w.known() && number(most) == 1 || !given && own.hasOption("standalone")
}

// waitsForOthers tells whether a launcher on one node surely waits for others in vain.
func (s *script) waitsForOthers(c *command) bool {
	w, _ := c.withoutProgram().flag("nnodes", "num-machines")
	least, _, _ := strings.Cut(w.text, ":")
	return w.known() && number(least) > 1 && s.meetsNone(c, 1)
}

// trainsOnNodes tells whether something may run a program of the user's on several nodes.
func (s *script) trainsOnNodes() bool {
	return slices.ContainsFunc(s.commands, func(c *command) bool {
		if !slices.Contains(distributors, c.name) || c.substituted || c.name == "srun" && s.stepOf(c).nodes == 1 {
			return c.handsOn()
		}
		return ownProgram().MatchString(wordsOf(c))
	})
}

// ownProgram is what the command line of a training or of a script has.
var ownProgram = pattern.New(`python|torchrun|deepspeed|accelerate|bash|\.(sh|py)\b|\$|(^| )\.?/`)

// trainingName is how people call programs that train.
var trainingName = pattern.New(`(?i)(^|[/_ -])(pre|fine)?-?_?(train|tune)[a-z0-9_-]*\.py|(ddp|fsdp|sft|deepspeed)[a-z0-9_-]*\.py`)

func idle(others int) string {
	if others == 1 {
		return "node stays idle"
	}
	return count.Of(others, "node") + " stay idle"
}

// firstTraining is a training in the body of the script.
func (s *script) firstTraining() *command {
	for _, c := range s.commands {
		if c.trains() && !c.substituted && s.asksForGPUs() {
			return c
		}
	}
	return nil
}
