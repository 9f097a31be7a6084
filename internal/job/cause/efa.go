package cause

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// The plugin of NCCL for EFA warns of much that ends no run: files of sysfs that it does not find,
// GDRCopy that is not there. These words tell of an end.
var (
	// broken are those of a transfer that failed. Which of its two ends is at fault they do not say.
	broken = []string{"completed with error", "Unresponsive receiver", "remote address", "Error polling"}
	// blind are those of a node that finds no EFA. Where all nodes say so, it is how the job was started.
	blind = []string{"No eligible providers", "Unable to find a protocol", "aws-ofi-nccl initialization failed", "Couldn't open a fabric"}
)

func says(s Sign, words []string) bool {
	return s.Kind == trainlog.NCCLWarning && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s.Text, w) })
}

// ncclWarning looks at a warning of NCCL or its plugin for EFA.
func (c *court) ncclWarning(s Sign, place string) {
	f := finding{class: Network, detail: rankText(s) + s.Text, place: place, weak: true, alike: "nccl warning"}
	switch {
	case strings.Contains(s.Text, trainlog.TwoOnOneGPU):
		f.class, f.weak, f.alike = ProgramError, false, "one gpu"
	case !strings.Contains(s.Text, "NET/OFI") && !strings.Contains(s.Text, "aws-ofi"):
	case says(s, broken):
		f.class, f.weak, f.alike = EFA, false, "efa"
	case says(s, blind):
		f.class, f.alike = EFA, "no efa"
		if node := c.onlyBlind(); node != "" {
			f.node, f.reason, f.drain, f.weak = node, "EFA: "+s.Text, true, false
		}
	default:
		return
	}
	c.add(f)
}

// onlyBlind is the node that finds no EFA while the others of the run do.
func (c *court) onlyBlind() string {
	node := ""
	for _, s := range c.Signs {
		if !says(s, blind) {
			continue
		}
		n := c.nodeOf(s)
		if n == "" || node != "" && n != node {
			return ""
		}
		node = n
	}
	if len(c.Run.Nodes) < 2 {
		return ""
	}
	return node
}
