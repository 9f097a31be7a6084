package batch

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// masterRules are about where the ranks meet.
func masterRules(s *script) {
	if s.parts || s.shell == "" {
		return
	}
	s.masterAddress()
	s.cutNodeList()
	s.masterPort()
}

// firstNode is how a script finds the name of its first node.
const firstNode = `MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)`

// masterAddress finds an address that leads each node to itself, or to a node
// that the next job does not have.
func (s *script) masterAddress() {
	if !s.job.several() {
		return
	}
	for _, name := range []string{"MASTER_ADDR", "MASTER_ADDRESS", "MASTER_IP"} {
		for _, v := range s.assigned(name) {
			if s.certain(v.context) && !s.overwritten(v) && !s.forOneNode(v) && !(v.task() && s.tasksStayApart(v.srun)) {
				s.address(name, v.value, v.Place)
			}
			if s.inTask(v.context) && ownName().MatchString(v.raw) {
				s.errorf("script/master-addr", v.Place, "each node takes itself for the master: %s is set in the task", name).WithHint("before srun: %s", firstNode)
			}
		}
	}
	for _, c := range s.commands {
		if !c.launches() || !c.task() || s.stepOf(c.srun).nodes == 1 {
			continue
		}
		for _, name := range []string{"master-addr", "rdzv-endpoint", "main-process-ip"} {
			w, ok := c.flag(name)
			if !ok || name == "rdzv-endpoint" && strings.HasPrefix(w.text, "/") {
				continue
			}
			v := w.value
			if host, _, ok := strings.Cut(v.text, ":"); ok {
				v.text = host
			}
			if !strings.Contains(w.raw, "MASTER_") { // where it is set, it was said
				s.address("--"+name, v, w.Place)
			}
			if inTask := w.start == 0; inTask && ownName().MatchString(w.raw) {
				s.errorf("script/master-addr", w.Place, "each node takes itself for the master: --%s is worked out in the task", name).WithHint("before srun: %s", firstNode)
			}
		}
	}
}

// ownName is how a node tells its own name.
var ownName = pattern.New("^\"?(--[a-z_-]+=)?(\\$\\(|`)(hostname|uname)( -[a-zA-Z]+)?(\\)|`)\"?(:.*)?$|^\"?(--[a-z_-]+=)?\\$\\{?(HOSTNAME|SLURMD_NODENAME)\\}?\"?(:.*)?$")

func (s *script) address(name string, v value, at diag.Place) {
	if !v.known() {
		return
	}
	ip, err := netip.ParseAddr(v.text)
	switch {
	case v.text == "localhost", err == nil && (ip.IsLoopback() || ip.IsUnspecified()):
		s.errorf("script/master-addr", at, "%s is %s: each of the %d nodes takes itself for the master", name, v.text, s.job.minNodes).WithHint("%s", firstNode)
	case err == nil:
		s.warnf("script/master-addr", at, "%s is %s, a node that the next run may not have", name, v.text).WithHint("%s", firstNode)
	}
}

// cutters are programs that take pieces of a text.
var cutters = []string{"cut", "awk", "sed", "tr", "head"}

// cutNodeList finds who takes the compressed list of nodes apart by hand:
// "gpu-[1-4]" has no comma, and "gpu-[1,3]" the wrong ones.
func (s *script) cutNodeList() {
	for _, c := range s.commands {
		if !slices.Contains(cutters, c.name) || c.outer != nil {
			continue
		}
		echo := s.feeder(c)
		if echo == nil || !strings.Contains(wordsOf(echo), "NODELIST") || slices.Contains([]string{"tr", "head"}, c.name) {
			continue
		}
		s.warnf("script/nodelist", c.Place, "the list of nodes is compressed, as in gpu-[1-4,7]: %s does not find the first", c.name).
			WithHint(`scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1`)
	}
	for _, w := range s.words {
		if cutByShell().MatchString(w.raw) {
			s.warnf("script/nodelist", w.Place, "the list of nodes is compressed, as in gpu-[1-4,7]: this does not find the first").
				WithHint(`scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1`)
		}
	}
}

var cutByShell = pattern.New(`^"?\$\{SLURM_(JOB_)?NODELIST%%?[,\[]`)

// feeder is the echo whose output a command of the same line reads.
func (s *script) feeder(c *command) *command {
	for _, other := range s.commands {
		if other.index < c.index && other.Line == c.Line && other.piped && (other.name == "echo" || other.name == "printf") {
			return other
		}
	}
	return nil
}

func wordsOf(c *command) string {
	var all []string
	for _, w := range c.words {
		all = append(all, w.raw)
	}
	return strings.Join(all, " ")
}

// masterPort: two jobs on one node cannot use one port.
func (s *script) masterPort() {
	alone, known := s.exclusive()
	if alone || !known || s.allGPUs() || s.job.gpuCount == 0 {
		return
	}
	for _, v := range s.assigned("MASTER_PORT") {
		if n, ok := v.value.number(); ok && n > 0 {
			s.warnf("script/master-port", v.Place, "port %d is taken where another job of yours runs on the same node", n).
				WithHint("MASTER_PORT=$((20000 + SLURM_JOB_ID %% 10000))")
		}
	}
	for _, c := range s.commands {
		w, ok := c.flag("master-port")
		if n, isNumber := w.number(); ok && isNumber && n > 0 && c.launches() && len(s.assigned("MASTER_PORT")) == 0 {
			s.warnf("script/master-port", w.Place, "port %d is taken where another job of yours runs on the same node", n).
				WithHint("--master-port=$((20000 + SLURM_JOB_ID %% 10000))")
		}
	}
}
