//go:build linux

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) node() *cobra.Command {
	c := &cobra.Command{
		Use:   "node",
		Short: nodeShort,
	}
	c.AddCommand(a.nodeKill())
	return c
}

func (a *app) nodeKill() *cobra.Command {
	return &cobra.Command{
		Use:   "kill NAME",
		Short: "Pull the plug of a node, to rehearse its failure",
		Long: `Kill ends a node of a local cluster as a power cut would: all that runs on it
dies at once, and nobody is told. It does not ask.

The controller notices within a second and tells Slurm that the node is lost. Slurm
puts the node's jobs back into the queue, unless they were submitted with
--no-requeue; a job starts again when it has as many nodes as it wants. One with
--no-kill goes on with its other nodes.`,
		Example: "  muster node kill gpu-queue-dy-p5e-nodes-1\n  muster events -f",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := onHost(); err != nil {
				return err
			}
			if err := a.localOnly("`aws ec2 terminate-instances` ends a node's instance; `muster nodes -o json` has its address"); err != nil {
				return err
			}
			return a.killNode(c.Context(), args[0])
		},
	}
}

// killAnswer is what `muster node kill -o json` prints.
type killAnswer struct {
	Node string `json:"node"`
	PID  int    `json:"pid"`
	// Jobs had the node. Blind says why they are not known.
	Jobs  []killedJob `json:"jobs"`
	Blind string      `json:"blind,omitempty"`
}

// killedJob is a job that lost a node.
type killedJob struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Nodes string `json:"nodes"`
	// Requeue says that Slurm starts it again.
	Requeue bool `json:"requeue"`
	// GoesOn says that it has other nodes and goes on with these.
	GoesOn bool `json:"goes_on,omitempty"`
}

func (a *app) killNode(ctx context.Context, node string) error {
	l, _, anchor, err := a.running()
	if err != nil {
		return err
	}
	pid, err := nodes.NodePID(anchor, node)
	if err != nil {
		return local.NotRunning(l, node, "there is nothing to kill")
	}
	answer := killAnswer{Node: node, PID: pid, Jobs: []killedJob{}}
	// Afterwards Slurm may no longer know whose the node was.
	jobs, err := jobsOn(ctx, slurm.Client{Runner: local.FromHost{Layout: l, Anchor: anchor}}, node)
	if err != nil {
		answer.Blind = err.Error()
	}
	answer.Jobs = append(answer.Jobs, jobs...)
	if err := nodes.PullPlug(ctx, anchor, node); err != nil {
		return fmt.Errorf("pull the plug of %s: %w", node, err)
	}
	return a.answer(answer, func() error {
		_, err := fmt.Fprint(a.out, answer.text())
		return err
	})
}

// jobsOn are the jobs that have a node.
func jobsOn(ctx context.Context, c slurm.Client, node string) ([]killedJob, error) {
	ctx, cancel := slurm.Limited(ctx)
	defer cancel()
	jobs, _, err := c.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var found []killedJob
	for _, j := range jobs {
		if j.Ended() || j.NodeList == "" {
			continue
		}
		if nodes, err := slurm.Expand(j.NodeList); err == nil && slices.Contains(nodes, node) {
			found = append(found, killedJob{ID: j.Label(), Name: j.Name, Nodes: j.NodeList, Requeue: j.Requeue, GoesOn: goesOn(ctx, c, j, node)})
		}
	}
	return found, nil
}

// goesOn says that a job asks for Slurm to leave it its other nodes (--no-kill), as far as its script
// says so: Slurm itself does not. Without the node of its script it cannot go on.
func goesOn(ctx context.Context, c slurm.Client, j slurm.Job, node string) bool {
	if !j.Batch || j.NumNodes < 2 || j.BatchHost == node {
		return false
	}
	script, err := c.BatchScript(ctx, j.ID)
	if err != nil {
		return false
	}
	keeps := false
	for _, o := range batch.Directives(script) {
		if o.Name == "no-kill" {
			keeps = !strings.EqualFold(o.Value, "off") && !strings.EqualFold(o.Value, "no")
		}
	}
	return keeps
}

func (k killAnswer) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: pulled the plug, process %d and all that ran on it is dead\n", k.Node, k.PID)
	for _, j := range k.Jobs {
		fate := "goes back into the queue"
		switch {
		case j.GoesOn:
			fate = "goes on with its other nodes: it was submitted with --no-kill"
		case !j.Requeue:
			fate = "ends: it was submitted with --no-requeue"
		}
		fmt.Fprintf(&b, "job %s (%s) on %s %s\n", j.ID, page.Printable(j.Name), j.Nodes, fate)
	}
	switch {
	case k.Blind != "":
		fmt.Fprintf(&b, "blind: which jobs it had is not known: %s\n", page.Printable(k.Blind))
	case len(k.Jobs) == 0:
		fmt.Fprintln(&b, "no job was on it")
	}
	fmt.Fprintln(&b, "see what happens: muster events -f")
	return b.String()
}
