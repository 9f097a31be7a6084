package cli

import (
	"context"
	"fmt"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/status"
)

// lookAtNodes asks Slurm and the kernel for the nodes.
func (a *app) lookAtNodes(ctx context.Context) (nodesAnswer, error) {
	n, err := a.near()
	if err != nil {
		return nodesAnswer{}, err
	}
	client, err := n.Slurm()
	if err != nil {
		return nodesAnswer{}, err
	}
	ctx, cancel := slurm.Limited(ctx)
	defer cancel()
	told, err := client.Nodes(ctx)
	if err != nil {
		return nodesAnswer{}, fmt.Errorf("ask Slurm for its nodes: %w", err)
	}
	running, err := n.Processes()
	if err != nil {
		return nodesAnswer{}, err
	}
	if running == nil {
		return cloudNodes(told), nil
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

func joinNodes(nodes []slurm.Node, running map[string]place.Process) nodesAnswer {
	answer := nodesAnswer{Nodes: []nodeAnswer{}}
	for _, n := range nodes {
		i := running[n.Name]
		answer.Nodes = append(answer.Nodes, nodeAnswer{
			Name: n.Name, State: status.NodeState(n.State), Slurm: n.State, Partitions: n.Partitions,
			CPUs: n.CPUs, CPUsAllocated: n.CPUsAllocated, MemoryMiB: n.MemoryMiB, AllocatedMemoryMiB: n.AllocatedMemoryMiB,
			GPUs: slurm.GPUs(n.CfgTRES), GPUsAllocated: slurm.GPUs(n.AllocTRES), Address: n.Address, PID: i.PID, UpSince: i.Started,
			Reason: n.Reason, ReasonUser: n.ReasonUser, ReasonTime: n.ReasonTime,
		})
	}
	return answer
}

// slurmHere is a client for the cluster's Slurm that works on the host and on the head node.
func (a *app) slurmHere() (slurm.Client, error) {
	n, err := a.near()
	if err != nil {
		return slurm.Client{}, err
	}
	return n.Slurm()
}
