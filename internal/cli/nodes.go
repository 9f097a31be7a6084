package cli

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) nodes() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "nodes [NAME]",
		Short: "List the nodes: state, jobs' share, address, process",
		Long: `Nodes lists the nodes that are not powered down, as Slurm and this machine see
them. CPUS, MEM and GPUS are what jobs hold of what there is. PID is the node's
init process; on AWS there is INSTANCE instead, where Slurm was told it. Nodes that
are powered down come in one line, with --all each in its own.`,
		Example: "  muster nodes\n  muster nodes --all\n  muster nodes -o json | jq -r '.nodes[] | select(.gpus_allocated > 0).name'",
		Args:    a.clusterName,
		RunE: a.forwarded(func(c *cobra.Command, _ []string) error {
			answer, err := a.lookAtNodes(c.Context())
			if err != nil {
				return err
			}
			answer.addBurnIn(burnInsHere())
			return a.answer(answer, func() error { return answer.write(a.out, all, time.Now()) })
		}),
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "list nodes that are powered down one by one, too")
	return c
}

// nodesAnswer is what `muster nodes -o json` prints: all nodes in Slurm's order.
type nodesAnswer struct {
	Nodes []nodeAnswer `json:"nodes"`
	// elsewhere says that they are no processes of this machine.
	elsewhere bool
}

// nodeAnswer is one node. Memory is in MiB.
type nodeAnswer struct {
	Name string `json:"name"`
	// State is one word for what the node does, Slurm the state as Slurm has it.
	State              string          `json:"state"`
	Slurm              slurm.NodeState `json:"slurm_state"`
	Partitions         []string        `json:"partitions"`
	CPUs               int             `json:"cpus"`
	CPUsAllocated      int             `json:"cpus_allocated"`
	MemoryMiB          int             `json:"memory_mib"`
	AllocatedMemoryMiB int             `json:"allocated_memory_mib"`
	GPUs               int             `json:"gpus"`
	GPUsAllocated      int             `json:"gpus_allocated"`
	Address            string          `json:"address,omitempty"`
	// PID is the node's init process as the caller sees it, UpSince its start;
	// both are absent if the node does not run.
	PID int `json:"pid,omitempty"`
	// Instance is EC2's, as far as Slurm was told.
	Instance   string    `json:"instance,omitempty"`
	UpSince    time.Time `json:"up_since,omitzero"`
	Reason     string    `json:"reason,omitempty"`
	ReasonUser string    `json:"reason_user,omitempty"`
	ReasonTime time.Time `json:"reason_time,omitzero"`
	// BurnInSeconds is how long the burn-in may take that a node which is powering up passes first; absent where there is none.
	BurnInSeconds int `json:"burn_in_limit_seconds,omitempty"`
}

// addBurnIn adds the limits of burn-ins, by partition, to the nodes that may be in theirs.
func (n nodesAnswer) addBurnIn(limits map[string]time.Duration) {
	for i := range n.Nodes {
		x := &n.Nodes[i]
		for _, p := range x.Partitions {
			if x.State == "powering up" {
				x.BurnInSeconds = max(x.BurnInSeconds, int(limits[p]/time.Second))
			}
		}
	}
}

// burnInText says which nodes are powering up and may be in their burn-in, "" if there are none.
func (n nodesAnswer) burnInText() string {
	var names []string
	longest := 0
	for _, x := range n.Nodes {
		if x.BurnInSeconds > 0 {
			names, longest = append(names, x.Name), max(longest, x.BurnInSeconds)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("powering up includes the burn-in of new nodes, up to %s (BurnIn of muster.yaml): %s",
		count.Span(time.Duration(longest)*time.Second), slurm.Compress(names))
}

// write writes the table for people.
func (n nodesAnswer) write(w io.Writer, all bool, now time.Time) error {
	t := page.Table{{"NODE", "STATE", "CPUS", "MEM", "GPUS", "ADDRESS", "PID", "UP SINCE", "REASON"}}
	if n.elsewhere {
		t[0][pidColumn] = "INSTANCE"
	}
	var off []string
	for _, x := range n.Nodes {
		if x.State == "powered down" && !all {
			off = append(off, x.Name)
			continue
		}
		t.Add(x.row(now)...)
	}
	if len(t) > 1 {
		if err := t.Write(w); err != nil {
			return err
		}
	}
	if text := n.burnInText(); text != "" {
		if err := page.Line(w, text); err != nil {
			return err
		}
	}
	switch {
	case len(off) > 0:
		return page.Line(w, fmt.Sprintf("%s powered down: %s", count.Of(len(off), "node"), slurm.Compress(off)))
	case len(n.Nodes) == 0:
		_, err := fmt.Fprintln(w, "no nodes")
		return err
	}
	return nil
}

// pidColumn is where a node's process is in the table, or its instance.
const pidColumn = 6

func (n nodeAnswer) row(now time.Time) []string {
	memory := fmt.Sprintf("%s/%s", count.Bytes(int64(n.AllocatedMemoryMiB)<<20), count.Bytes(int64(n.MemoryMiB)<<20))
	pid := n.Instance
	if n.PID > 0 {
		pid = strconv.Itoa(n.PID)
	}
	return []string{n.Name, n.State, part(n.CPUsAllocated, n.CPUs), memory, part(n.GPUsAllocated, n.GPUs), n.Address,
		pid, clock(n.UpSince, now), n.Reason}
}
