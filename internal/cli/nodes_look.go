//go:build linux

package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/status"
)

// lookAtNodes asks Slurm and the kernel for the nodes.
func (a *app) lookAtNodes(ctx context.Context) (nodesAnswer, error) {
	client, err := a.slurmHere()
	if err != nil {
		return nodesAnswer{}, err
	}
	ctx, cancel := slurm.Limited(ctx)
	defer cancel()
	told, err := client.Nodes(ctx)
	if err != nil {
		return nodesAnswer{}, fmt.Errorf("ask Slurm for its told: %w", err)
	}
	if onCloudHead() || guest() {
		return cloudNodes(told), nil
	}
	anchor, err := a.anchorHere()
	if err != nil {
		return nodesAnswer{}, err
	}
	running, err := nodes.Running(anchor)
	if err != nil {
		return nodesAnswer{}, fmt.Errorf("look for the told' processes: %w", err)
	}
	return joinNodes(told, running), nil
}

// cloudNodes are nodes that are no processes of this machine.
func cloudNodes(nodes []slurm.Node) nodesAnswer {
	answer := joinNodes(nodes, nil)
	answer.elsewhere = true
	for i, n := range nodes {
		if x := &answer.Nodes[i]; x.State != "powered down" {
			x.UpSince, x.Instance = n.BootTime, n.InstanceID
		}
	}
	return answer
}

// anchorHere is the anchor's process as the caller sees it.
func (a *app) anchorHere() (nodes.AnchorProcess, error) {
	if inside() {
		return nodes.AnchorProcess{PID: 1}, nil
	}
	_, _, anchor, err := a.running()
	return anchor, err
}

func joinNodes(nodes []slurm.Node, running []provider.Instance) nodesAnswer {
	instances := map[string]provider.Instance{}
	for _, i := range running {
		instances[i.Node] = i
	}
	answer := nodesAnswer{Nodes: []nodeAnswer{}}
	for _, n := range nodes {
		i := instances[n.Name]
		pid, _ := strconv.Atoi(i.ID)
		answer.Nodes = append(answer.Nodes, nodeAnswer{
			Name: n.Name, State: status.NodeState(n.State), Slurm: n.State, Partitions: n.Partitions,
			CPUs: n.CPUs, CPUsAllocated: n.CPUsAllocated, MemoryMiB: n.MemoryMiB, AllocatedMemoryMiB: n.AllocatedMemoryMiB,
			GPUs: slurm.GPUs(n.CfgTRES), GPUsAllocated: slurm.GPUs(n.AllocTRES), Address: n.Address, PID: pid, UpSince: i.Started,
			Reason: n.Reason, ReasonUser: n.ReasonUser, ReasonTime: n.ReasonTime,
		})
	}
	return answer
}

// slurmHere is a client for the cluster's Slurm that works on the host and on
// the head node.
func (a *app) slurmHere() (slurm.Client, error) {
	if inside() {
		return slurm.Client{Runner: slurm.Exec{}}, nil
	}
	l, _, anchor, err := a.running()
	return slurm.Client{Runner: local.FromHost{Layout: l, Anchor: anchor}}, err
}
