//go:build linux

package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
)

// condemned are the nodes that a failed check takes out of service, with the result that says so. It has to be the node's own fault:
// what several share, such as a bucket or a file system's speed, drains nobody.
func condemned(report *verify.Report) map[string]*verify.Result {
	all := map[string]*verify.Result{}
	for i := range report.Suites {
		s := &report.Suites[i]
		for j := range s.Results {
			r := &s.Results[j]
			node, _, _ := strings.Cut(r.On, ":")
			if r.Verdict == verify.Fail && slices.Contains(report.Nodes, node) && own(s.Name, r.Check) && all[node] == nil {
				all[node] = r
			}
		}
	}
	return all
}

// own says whether a check is about a node alone.
func own(suite, check string) bool {
	switch suite {
	case verify.GPU, verify.EFA:
		return true
	case verify.Basic:
		return check == "mount" || check == "mount-writable" || check == "clock"
	}
	return suite == verify.Network && check == "network-node"
}

// drain takes the nodes out of service that failed, unless they are so many that it is not they who are at fault. Each result says
// what became of its node.
func (r *run) drain(ctx context.Context) {
	bad := condemned(r.report)
	if !r.Drain || len(bad) == 0 {
		return
	}
	all, err := r.Slurm.Nodes(ctx)
	if err != nil {
		r.Tell(fmt.Sprintf("nobody is drained: %v", err))
		return
	}
	if most := fleet.Crowd(len(all)); len(bad) > most {
		r.Tell(fmt.Sprintf("nobody is drained: %d nodes failed, and more than %d at once have a cause of their own", len(bad), most))
		return
	}
	for _, node := range slices.Sorted(maps.Keys(bad)) {
		result := bad[node]
		reason := fleet.VerifyReason(result.Check, result.Found)
		if i := slices.IndexFunc(all, func(n slurm.Node) bool { return n.Name == node }); i >= 0 && all[i].State.Flags&slurm.FlagDrain != 0 {
			result.Hint = "it is drained already: " + all[i].Reason
			continue
		}
		if err := r.Slurm.UpdateNodes(ctx, []string{node}, "DRAIN", reason); err != nil {
			result.Hint = "it is not drained: " + err.Error()
			continue
		}
		result.Hint = "it was drained: " + reason
		r.Tell(fmt.Sprintf("%s is drained: %s", node, reason))
	}
}
