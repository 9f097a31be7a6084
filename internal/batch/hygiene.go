package batch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// hygieneRules are about what does not stop a job, but harms its user or the others.
func hygieneRules(s *script) {
	s.installs()
	s.privileges()
	s.threads()
	s.claims()
}

// installers are programs that fetch software, and the words that make them.
var installers = map[string][]string{
	"pip": {"install"}, "pip3": {"install"}, "uv": {"pip", "sync", "add"}, "conda": {"install", "create", "update", "env"},
	"mamba": {"install", "create", "update", "env"}, "micromamba": {"install", "create", "update"},
	"apt": {"install", "update", "upgrade"}, "apt-get": {"install", "update", "upgrade"}, "yum": {"install", "update"}, "dnf": {"install", "update"},
	"npm": {"install", "ci"},
}

// fetchers fetch data.
var fetchers = map[string][]string{
	"wget": nil, "curl": nil, "huggingface-cli": {"download"}, "hf": {"download"}, "kaggle": {"datasets", "competitions"}, "git": {"clone"}, "git-lfs": {"pull"},
}

// installs is about what a job fetches each time that it runs, on GPUs that are
// paid for; in tasks, on every node, or once for every GPU.
func (s *script) installs() {
	for _, c := range s.commands {
		what := c.fetches()
		if what == "" || c.local() {
			continue
		}
		switch {
		case c.task() && !c.once():
			s.warnf("script/install", c.Place, "every task of the job %s, each time that it runs", what).
				WithHint("do it once, before the job: into a shared directory, or into the image")
		case s.job.several() && s.job.gpuCount > 0 && (installers[c.name] != nil || c.pips()):
			s.warnf("script/install", c.Place, "the job %s each time that it runs, while %d nodes wait", what, s.job.minNodes).
				WithHint("do it once, before the job: into a shared directory, or into the image")
		}
	}
}

// fetches is what a command does that needs the world outside, "" if nothing.
func (c *command) fetches() string {
	args := c.args()
	first := ""
	if i := slices.IndexFunc(args, func(w word) bool { return !strings.HasPrefix(w.text, "-") }); i >= 0 {
		first = args[i].text
	}
	if verbs, ok := installers[c.name]; ok && slices.Contains(verbs, first) || c.pips() {
		return "installs software"
	}
	if verbs, ok := fetchers[c.name]; ok && (verbs == nil || slices.Contains(verbs, first)) {
		return "downloads"
	}
	return ""
}

// pips tells whether a command is python -m pip install.
func (c *command) pips() bool {
	module, ok := c.module()
	return ok && module == "pip" && strings.Contains(c.line(), " pip install")
}

// local tells whether a command only speaks to its own machine, or installs what
// lies in a directory.
func (c *command) local() bool {
	return slices.ContainsFunc(c.args(), func(w word) bool {
		return hasAnyPrefix(w.text, "http://169.254.169.254", "http://localhost", "http://127.0.0.1", "--no-index", "--no-deps") ||
			w.text == "-e" || w.text == "." || w.text == string(hole)
	})
}

// once tells whether srun starts a command one time only.
func (c *command) once() bool {
	if c.conditional {
		return true // such as if [ "$SLURM_PROCID" = 0 ]
	}
	n, ok := c.srun.option("ntasks")
	return ok && n.Value == "1"
}

// privileges is about what ordinary users of a cluster may not do.
func (s *script) privileges() {
	for _, c := range s.named("sudo") {
		s.infof("script/sudo", c.Place, "sudo works for the cluster's default user only, and changes the node for all jobs after this one").
			WithHint("do it when the node starts: OnNodeConfigured in the cluster file")
	}
	for _, c := range s.named("ulimit") {
		if line := c.line(); !c.tested && raising().MatchString(line) {
			s.infof("script/ulimit", c.Place, "%s cannot go above the limit that the node's slurmd has, and fails then", line).
				WithHint("set LimitNOFILE and LimitMEMLOCK of slurmd when the node starts")
		}
	}
}

// raising is a ulimit of open files or of locked memory with a value.
var raising = pattern.New(`^ulimit (-[SH]+ )?-[SH]*[nl] (\d+|unlimited)`)

// manyRanks are the ranks of a node whose threads are in each other's way.
const manyRanks = 4

// threads is about ranks that each take all the CPUs that they see. torchrun
// sets OMP_NUM_THREADS itself.
func (s *script) threads() {
	if s.job.tasksPerNode < manyRanks || !s.trains() || s.says(threading()) || s.reading() {
		return
	}
	s.infof("script/omp-threads", s.job.tasks.Place, "each of %d ranks of a node starts as many threads as it sees CPUs", s.job.tasksPerNode).
		WithHint("export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK, or fewer")
}

var threading = pattern.New(`OMP_NUM_THREADS|MKL_NUM_THREADS|torchrun|torch\.distributed\.run`)

var (
	gpuClaims = pattern.New(`\d+\s*[x×]\s*(?:NVIDIA )?([A-Z]+\d+[A-Z]?)\b|\b([A-Z]+\d+[A-Z]?)s? (?:GPUs?\b|\d+ ?GB)`)
	compares  = pattern.New(`(?i)\b(than|vs|versus|unlike|compared|instead|like|as|or|not|from)\b`)
	gpuNames  = []string{"V100", "A100", "H100", "H200", "B200", "B300", "GB200", "A10G", "L40S", "L4", "T4"}
)

// claims is about comments that name another GPU than the nodes have: numbers
// that follow from it are wrong, too.
func (s *script) claims() {
	gpu := strings.ToUpper(s.gpu())
	if !slices.Contains(gpuNames, gpu) {
		return
	}
	for _, c := range s.comments {
		m := gpuClaims().FindStringSubmatch(c.text)
		if m == nil || compares().MatchString(c.text) {
			continue
		}
		if name := cmp.Or(m[1], m[2]); name != gpu && slices.Contains(gpuNames, name) {
			s.infof("script/gpu-claim", c.Place, "this says %s, and the GPUs of %s are %s", name, s.machine(), gpu).
				WithHint("correct it, with the numbers that follow from it")
		}
	}
}
