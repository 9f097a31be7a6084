package agent

import (
	"context"
	"runtime"

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// nodeTypes are what ParallelCluster calls the roles of machines.
var nodeTypes = map[string]string{manifest.RoleHead: "HeadNode", manifest.RoleCompute: "ComputeFleet", manifest.RoleLogin: "LoginNode"}

// expected leaves what scripts and images of ParallelCluster's look for on a machine.
func (a *agent) expected(context.Context) (string, error) {
	f, err := a.facts()
	if err != nil {
		return "", err
	}
	facts, err := a.machine.WriteFacts(f)
	if err != nil {
		return "", err
	}
	near, err := a.machine.Near(a.identity.Networks)
	return facts + "; " + near, err
}

// facts are what scripts ask about this machine.
func (a *agent) facts() (boot.Facts, error) {
	scratch, err := a.scratchDir()
	if err != nil {
		return boot.Facts{}, err
	}
	f := boot.Facts{
		Cluster: a.Ticket.Cluster, Region: a.Ticket.Region, NodeType: nodeTypes[a.Ticket.Role], User: a.cluster.file.DefaultUser(),
		CPUs: runtime.NumCPU(), Scratch: scratch,
	}
	if a.Ticket.Role != manifest.RoleHead {
		f.Head, f.HeadAddress = headName(a.Ticket.Cluster), a.Ticket.Head
	}
	if a.Ticket.Role == manifest.RoleCompute {
		f.Queue = a.Ticket.Queue
	}
	for _, s := range a.cluster.site.Storage {
		if s.Type != spec.EBS {
			continue
		}
		f.Shared = append(f.Shared, s.MountDir)
		if a.Ticket.Role == manifest.RoleHead {
			f.Volumes = append(f.Volumes, s.IDs...)
		}
	}
	return f, nil
}
