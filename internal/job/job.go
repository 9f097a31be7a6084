// Package job knows what a job means to its user: how it ended, why it waits,
// what has changed, what it asks for that does not exist, and how far it has
// come. It submits nothing by itself and keeps nothing: all it knows comes from
// Slurm and from the job's own output.
//
// Words for people are in plain language, Slurm's own words for states are kept.
package job

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// View is what is known of a job at one time.
type View struct {
	Job slurm.Job
	// Starting are the nodes that the job has and that are not up yet, as a host
	// list. It is looked for only while Slurm prepares the job's nodes.
	Starting string
	// BurnIn is how long new nodes of a partition may prove themselves before they are up, by its name. It stays from look to look.
	BurnIn map[string]time.Duration
	// Lost are the nodes that failed under the job's last run. They are looked
	// for only when the job goes back into the queue or ended with NODE_FAIL.
	Lost []Lost
	// Before is Slurm's word for how the last run ended of a job that is about to be
	// queued again. It is looked for only then, and empty if it is not known.
	Before string
}

// Lost is a node that failed under a job.
type Lost struct {
	Node string `json:"node"`
	// Reason is what was written down for the node, which may be nothing.
	Reason string `json:"reason,omitempty"`
}

// Started says that the job runs or has run, so that there may be output.
func Started(j slurm.Job) bool {
	switch j.State {
	case "PENDING", "CONFIGURING":
		return j.Restarts > 0
	}
	return !j.Ended() || !j.StartTime.IsZero()
}

// attempt counts the job's runs from 1.
func attempt(j slurm.Job) int { return j.Restarts + 1 }

// Span is a time span as Slurm writes it, but without leading zeros: 0:07,
// 1:02:03, 2-00:30:00.
func Span(d time.Duration) string {
	s := int(d / time.Second)
	if s < 0 {
		s = 0
	}
	clock := fmt.Sprintf("%d:%02d", s/60%60, s%60)
	if s >= 3600 {
		clock = fmt.Sprintf("%d:%02d:%02d", s/3600%24, s/60%60, s%60)
	}
	if days := s / 86400; days > 0 {
		return fmt.Sprintf("%d-%s", days, fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60))
	}
	return clock
}

// LostNodes are the nodes of a host list that failed since a time: those that
// are down, and those with a reason. Where a node was replaced quickly, the reason is
// all that is left to see.
func LostNodes(list string, nodes []slurm.Node, since time.Time) []Lost {
	names, err := slurm.Expand(list)
	if err != nil {
		return nil
	}
	mine := map[string]bool{}
	for _, name := range names {
		mine[name] = true
	}
	var lost []Lost
	for _, n := range nodes {
		recent := n.Reason != "" && !n.ReasonTime.IsZero() && !n.ReasonTime.Before(since)
		if mine[n.Name] && (n.State.Down() || recent) {
			lost = append(lost, Lost{n.Name, strings.TrimPrefix(n.Reason, "muster: ")})
		}
	}
	return lost
}

// starting are the nodes of a host list that are not up yet, as a host list.
func starting(list string, nodes []slurm.Node) string {
	names, err := slurm.Expand(list)
	if err != nil {
		return ""
	}
	mine := map[string]bool{}
	for _, name := range names {
		mine[name] = true
	}
	var missing []string
	for _, n := range nodes {
		if mine[n.Name] && (n.State.PoweringUp() || n.State.PoweredDown() || n.State.PoweringDown() || n.State.Has(slurm.FlagNotResponding)) {
			missing = append(missing, n.Name)
		}
	}
	return slurm.Compress(missing)
}
