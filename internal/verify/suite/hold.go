//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
)

// hold asks Slurm for the nodes.
func (r *run) hold(ctx context.Context) error {
	all, err := r.Slurm.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("ask for the nodes: %w", err)
	}
	partition, err := r.partition(ctx)
	if err != nil {
		return err
	}
	q, err := r.request(partition, all)
	if err != nil {
		return err
	}
	if err := r.agree(q, all); err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	q.limit, q.sent = time.Until(deadline)+time.Minute, r.fileOfRun()
	q.cancel = func(job string) error { return r.Slurm.Cancel(context.WithoutCancel(ctx), job) }
	r.Tell(fmt.Sprintf("asks Slurm for %s of partition %s", count.Of(q.nodes, "node"), partition.Name))
	w := wait{wanted: wantedOf(q, all)}
	r.alloc, err = allocate(ctx, q, func(id int, since time.Duration) { r.tellWait(ctx, &w, id, since) })
	if err != nil && w.why != "" {
		return fmt.Errorf("%w; at last: %s", err, w.why)
	}
	if err != nil {
		return err
	}
	r.report.Nodes, r.report.Partition = r.alloc.nodes, partition.Name
	r.types = map[string]string{}
	for _, n := range all {
		if slices.Contains(r.alloc.nodes, n.Name) && n.InstanceType != "" {
			r.types[n.Name] = n.InstanceType
		}
		if slices.Contains(r.alloc.nodes, n.Name) && n.State.Flags&(slurm.FlagPoweredDown|slurm.FlagPoweringDown) != 0 {
			r.woken = append(r.woken, n.Name)
		}
	}
	if err := r.send(ctx); err != nil {
		r.leave()
		return err
	}
	r.identifyTypes()
	r.Tell(fmt.Sprintf("job %d has %s, %s", r.alloc.job, slurm.Compress(r.alloc.nodes), count.Span(r.alloc.waited)))
	return nil
}

// partition is the one that is asked for, or Slurm's default.
func (r *run) partition(ctx context.Context) (slurm.Partition, error) {
	all, err := r.Slurm.Partitions(ctx)
	if err != nil {
		return slurm.Partition{}, fmt.Errorf("ask for the partitions: %w", err)
	}
	var names []string
	for _, p := range all {
		if p.Name == r.Partition || r.Partition == "" && p.Default {
			return p, nil
		}
		names = append(names, p.Name)
	}
	if r.Partition == "" {
		return slurm.Partition{}, fmt.Errorf("no partition is Slurm's default: name one with --partition: %v", names)
	}
	return slurm.Partition{}, fmt.Errorf("there is no partition %q: there are %v", r.Partition, names)
}

// request is what the options come to. Nodes that no job gets are left out of all.
func (r *run) request(p slurm.Partition, all []slurm.Node) (request, error) {
	q := request{nodes: r.Nodes, nodeList: r.NodeList, partition: p.Name}
	var usable []slurm.Node
	for _, n := range all {
		if slices.Contains(n.Partitions, p.Name) && !out(n) {
			usable = append(usable, n)
		}
	}
	switch {
	case len(usable) == 0:
		return q, fmt.Errorf("partition %s has no node in service", p.Name)
	case r.NodeList != "":
		names, err := slurm.Expand(r.NodeList)
		if err != nil {
			return q, fmt.Errorf("--nodelist: %w", err)
		}
		q.nodes = len(names)
		usable = slices.DeleteFunc(usable, func(n slurm.Node) bool { return !slices.Contains(names, n.Name) })
		if len(usable) < len(names) {
			return q, errors.New("not all of these nodes are in service, and in partition " + p.Name)
		}
	case bool(r.All):
		q.nodes = len(usable)
	case r.Nodes == 0:
		q.nodes = min(2, len(usable))
	case r.Nodes > len(usable):
		return q, fmt.Errorf("partition %s has %s in service, and %d are asked for", p.Name, count.Of(len(usable), "node"), r.Nodes)
	}
	q.gpus, r.hidden = gpusOf(usable, q.nodes, r.NodeList != "" || bool(r.All))
	return q, nil
}

// gpusOf is how many GPUs each of some nodes can be asked for: the fewest that any of those has that have some. Where not all nodes
// that take part can have some, as each of them is named, none can be asked for, and hidden says why GPUs of the job may be unseen.
func gpusOf(usable []slurm.Node, wanted int, each bool) (gpus int, hidden string) {
	have := 0
	for _, n := range usable {
		if its := n.GPUs(); its > 0 {
			have++
			if gpus == 0 || its < gpus {
				gpus = its
			}
		}
	}
	if have > 0 && (have < wanted || each && have < len(usable)) {
		return 0, fmt.Sprintf("by Slurm's count, %d of %s have GPUs, so that a job on all of them asks for none and may see none: name nodes of one kind with --nodelist",
			have, count.Of(len(usable), "node"))
	}
	return gpus, ""
}

// Wake is what nodes are that start for a verification.
type Wake struct {
	Partition string
	Nodes     int
	Budget    time.Duration
}

// agree asks before nodes start for this, where they cost.
func (r *run) agree(q request, all []slurm.Node) error {
	if r.Ask == nil {
		return nil
	}
	named, _ := slurm.Expand(q.nodeList)
	up := 0
	for _, n := range all {
		chosen := slices.Contains(n.Partitions, q.partition) && (q.nodeList == "" || slices.Contains(named, n.Name))
		if chosen && !out(n) && n.State.Flags&(slurm.FlagPoweredDown|slurm.FlagPoweringDown) == 0 {
			up++
		}
	}
	if up >= q.nodes {
		return nil
	}
	return r.Ask(Wake{Partition: q.partition, Nodes: q.nodes - up, Budget: r.Budget})
}
