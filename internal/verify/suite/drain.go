//go:build linux

package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
)

// condemned are the nodes that a failed check takes out of service, with the result that says so. It has to be the node's own fault:
// what several share drains nobody, be it a bucket, an image's driver, or an expectation that is wrong.
func condemned(report *verify.Report) map[string]*verify.Result {
	all := map[string]*verify.Result{}
	for i := range report.Suites {
		s := &report.Suites[i]
		seen := sightings(s, report.Nodes)
		for j := range s.Results {
			r := &s.Results[j]
			key, node := keyOf(s.Name, *r, report.Nodes)
			switch check := seen[key]; {
			case key == "" || r.Verdict != verify.Fail:
			case check.shared():
				r.Hint = strings.TrimPrefix(fmt.Sprintf("%s; --drain leaves it: %d of %s fail alike", r.Hint, len(check.failed), count.Of(len(check.looked), "node")), "; ")
			case all[node] == nil:
				all[node] = r
			}
		}
	}
	return all
}

// sighting is on which nodes one check looked, and on which it failed.
type sighting struct{ looked, failed map[string]bool }

// shared says that it is not the nodes who are at fault: half of those that were looked at fail alike, or no other one shows that
// what is expected can be.
func (s sighting) shared() bool {
	n := len(s.failed)
	return n == len(s.looked) || n > 1 && 2*n >= len(s.looked)
}

// sightings are those of the checks that can drain a node. A search names those alone that are slow: it has looked at all.
func sightings(s *verify.Suite, nodes []string) map[string]sighting {
	all := map[string]sighting{}
	for _, r := range s.Results {
		key, node := keyOf(s.Name, r, nodes)
		if key == "" || r.Verdict == verify.Blind || r.Verdict == verify.Skip {
			continue
		}
		if all[key].looked == nil {
			all[key] = sighting{map[string]bool{}, map[string]bool{}}
		}
		all[key].looked[node] = true
		for _, n := range nodes {
			if s.Name == verify.Network || r.Check == "nccl-node" {
				all[key].looked[n] = true
			}
		}
		if r.Verdict == verify.Fail {
			all[key].failed[node] = true
		}
	}
	return all
}

// keyOf is what makes results of several nodes alike, with the node: the check and where on the node. It is empty for what drains nobody.
func keyOf(suite string, r verify.Result, nodes []string) (key, node string) {
	node, at, _ := strings.Cut(r.On, ":")
	if !slices.Contains(nodes, node) || !own(suite, r.Check) {
		return "", ""
	}
	return r.Check + " " + at, node
}

// own says whether a check is about the hardware of a node alone, or what only this node's life has broken. Versions of drivers, of EFA's
// software and limits are an image's: a new machine would have them, too.
func own(suite, check string) bool {
	switch suite {
	case verify.GPU:
		return slices.Contains([]string{"gpu-count", "gpu-memory", "gpu-pcie-width", "gpu-nvlinks", "gpu-fabric", "gpu-ecc-errors", "gpu-remap",
			"gpu-throttle", "gpu-temperature", "gpu-topology", "gpu-dcgm", "gpu-xid"}, check)
	case verify.EFA:
		return check == "efa-devices"
	case verify.Basic:
		return check == "mount" || check == "mount-writable" || check == "mount-shared" || check == "clock"
	}
	return suite == verify.Network && check == "network-node" || suite == verify.NCCL && (check == "nccl-node" || check == "efa-counters")
}

// drain takes the nodes out of service that failed, unless they are so many that it is not they who are at fault, or the verification
// was cut off. Each result says what became of its node.
func (r *run) drain(ctx context.Context) {
	if !r.Drain {
		return
	}
	bad := condemned(r.report)
	if len(bad) == 0 {
		return
	}
	if r.report.Error != "" {
		r.Tell("nobody is drained: the verification did not come to its end")
		return
	}
	all, err := r.Slurm.Nodes(ctx)
	if err != nil {
		r.Tell(fmt.Sprintf("nobody is drained: %v", err))
		return
	}
	for node := range keepDrained(bad, all) {
		delete(bad, node)
	}
	if why := crowded(bad, all); why != "" {
		r.Tell("nobody is drained: " + why)
		return
	}
	for _, node := range slices.Sorted(maps.Keys(bad)) {
		result := bad[node]
		reason := fleet.VerifyReason(result.Check, result.Found)
		if err := r.Slurm.UpdateNodes(ctx, []string{node}, "DRAIN", reason); err != nil {
			result.Hint = "it is not drained: " + err.Error()
			continue
		}
		result.Hint = "it was drained: " + reason
		r.Tell(fmt.Sprintf("%s is drained: %s", node, reason))
	}
}

// keepDrained are the nodes that are drained already. Their results say so.
func keepDrained(bad map[string]*verify.Result, all []slurm.Node) map[string]bool {
	have := map[string]bool{}
	for _, n := range all {
		if result := bad[n.Name]; result != nil && n.State.Flags&slurm.FlagDrain != 0 {
			result.Hint, have[n.Name] = "it is drained already: "+n.Reason, true
		}
	}
	return have
}

// crowded says why these nodes are too many, with those that muster has taken out of service before; empty if they are not.
func crowded(bad map[string]*verify.Result, all []slurm.Node) string {
	var reasons []string
	for _, n := range all {
		if n.State.Flags&slurm.FlagDrain != 0 {
			reasons = append(reasons, n.Reason)
		}
	}
	before, most := fleet.TakenOut(reasons), fleet.Crowd(len(all))
	if before+len(bad) <= most {
		return ""
	}
	why := count.Of(len(bad), "node") + " failed"
	if before > 0 {
		why += fmt.Sprintf(", %d were taken out of service before", before)
	}
	return fmt.Sprintf("%s, and more than %d at once have a cause of their own", why, most)
}
