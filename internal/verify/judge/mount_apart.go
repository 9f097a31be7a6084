package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/verify"
)

// Apart judges what only a comparison of nodes shows, and what no size tells: that shared directories come from where those of the
// other nodes do, and that their servers answer. The mounts are those of nodes that told them, by their names.
func Apart(dirs []string, nodes map[string][]verify.Mount) []verify.Result {
	var all []verify.Result
	for _, dir := range dirs {
		usual := usualSource(dir, nodes)
		for _, node := range slices.Sorted(maps.Keys(nodes)) {
			i := slices.IndexFunc(nodes[node], func(m verify.Mount) bool { return m.Dir == dir })
			if i < 0 {
				continue // the check of the node's own mounts says so
			}
			all = append(all, strange(node, nodes[node][i], usual)...)
		}
	}
	return all
}

// strange are the faults of one mount on one node.
func strange(node string, m verify.Mount, usual string) []verify.Result {
	var all []verify.Result
	if usual != "" && m.Source != usual {
		all = append(all, verify.Result{Check: "mount-source", On: node, Verdict: verify.Fail, Found: m.Dir + " comes from " + m.Source, Want: usual + ", as on the other nodes",
			Why: "its files are not those that the other nodes see", Hint: "see on " + node + ": findmnt " + m.Dir, Source: "the other nodes"})
	}
	if m.Blind != "" && !strings.Contains(m.Blind, "permission denied") {
		all = append(all, verify.Result{Check: "mount-answers", On: node, Verdict: verify.Fail, Found: m.Dir + " gives no answer", Want: "its server answers", Why: m.Blind,
			Hint: fmt.Sprintf("see whether %s runs and can be reached from %s; then umount -l %s && mount %s", m.Source, node, m.Dir, m.Dir)})
	}
	return all
}

// usualSource is where most nodes have a directory from, empty where no two agree, or as many disagree.
func usualSource(dir string, nodes map[string][]verify.Mount) string {
	counts := map[string]int{}
	total := 0
	for _, mounts := range nodes {
		for _, m := range mounts {
			if m.Dir == dir {
				counts[m.Source]++
				total++
			}
		}
	}
	for source, n := range counts {
		if n > 1 && 2*n > total {
			return source
		}
	}
	return ""
}
