//go:build linux

package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
)

// wait is what a wait for nodes is about.
type wait struct {
	// wanted are the nodes of which we wait for some, why is what we waited for when we looked last.
	wanted []string
	why    string
}

// wantedOf are the nodes that a request may get.
func wantedOf(q request, all []slurm.Node) []string {
	if named, err := slurm.Expand(q.nodeList); q.nodeList != "" && err == nil {
		return named
	}
	var names []string
	for _, n := range all {
		if slices.Contains(n.Partitions, q.partition) && !out(n) {
			names = append(names, n.Name)
		}
	}
	return names
}

// tellWait says what we wait for, by Slurm's reason, and which jobs hold the nodes.
func (r *run) tellWait(ctx context.Context, w *wait, id int, since time.Duration) {
	quiet := since/waitTold == (since-waitLook)/waitTold
	if quiet && w.why != "" { // Slurm is asked as seldom as it is told
		return
	}
	why := "Slurm has not answered"
	if id > 0 {
		why = "nodes start"
		if j, err := r.Slurm.Job(ctx, id); err == nil && j.State == "PENDING" {
			why = job.State(job.View{Job: j})
			if others, _, err := r.Slurm.Jobs(ctx); err == nil {
				why += holders(others, id, w.wanted)
			}
		}
	}
	w.why = why
	if quiet {
		return
	}
	r.Tell(fmt.Sprintf("waits for nodes, %s: %s", count.Span(since), why))
}

// mostHolders are as many jobs as are named.
const mostHolders = 5

// holders says which jobs other than our own have nodes that are wanted, empty if none has.
func holders(jobs []slurm.Job, own int, wanted []string) string {
	var said []string
	for _, j := range jobs {
		nodes, err := slurm.Expand(j.NodeList)
		if err != nil || j.ID == own || j.State == "PENDING" {
			continue
		}
		if nodes = slices.DeleteFunc(nodes, func(n string) bool { return !slices.Contains(wanted, n) }); len(nodes) > 0 && holds(j) {
			said = append(said, fmt.Sprintf("job %d (%s, of %s) has %s", j.ID, j.Name, j.User, slurm.Compress(nodes)))
		}
	}
	if len(said) == 0 {
		return ""
	}
	text := "; " + strings.Join(said[:min(len(said), mostHolders)], ", ")
	if more := len(said) - mostHolders; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// holds says that a job has its nodes still.
func holds(j slurm.Job) bool {
	return slices.Contains([]string{"RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "STOPPED", "SIGNALING", "STAGE_OUT"}, j.State) || j.Again
}
