package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/aws/stack"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify"
)

// gpus starts what the machine's GPUs need.
func (a *agent) gpus() step {
	return step{"start NVIDIA's services", func(ctx context.Context) (string, error) {
		if a.Ticket.Role != manifest.RoleCompute {
			return a.machine.StartGPUs(ctx, false)
		}
		resource, err := a.cluster.resource(a.Ticket)
		if err != nil {
			return "", err
		}
		return a.machine.StartGPUs(ctx, a.diagnosed(resource))
	}}
}

// diagnosed tells whether DCGM is asked on nodes of a compute resource, for which its engine has to run: before jobs, or before the
// first one.
func (a *agent) diagnosed(r spec.ComputeResource) bool {
	wish := a.cluster.workload.BurnInOf(a.Ticket.Queue)
	return r.CheckGPUs || wish != nil && slices.Contains(wish.Suites, verify.GPU)
}

// tune sets the machine's kernel.
func (a *agent) tune() step {
	return step{"set the kernel", func(ctx context.Context) (string, error) {
		t := boot.Tuning{Head: a.Ticket.Role == manifest.RoleHead}
		switch a.Ticket.Role {
		case manifest.RoleHead:
			t.OneThread = a.cluster.file.HeadNode.DisableSMT
		case manifest.RoleCompute:
			resource, err := a.cluster.resource(a.Ticket)
			if err != nil {
				return "", err
			}
			t.OneThread, t.EFA = resource.DisableSMT, resource.EFA
		}
		return a.machine.Tune(ctx, t)
	}}
}

// health proves that a node can do what it costs, and writes what looks at its GPUs later.
func (n *node) health(ctx context.Context) (string, error) {
	resource, err := n.cluster.resource(n.Ticket)
	if err != nil {
		return "", err
	}
	options, err := n.healthOptions()
	if err != nil {
		return "", err
	}
	prolog, err := n.machine.Prolog(resource.CheckGPUs, options)
	if err != nil {
		return "", err
	}
	epilog, err := n.machine.Epilog()
	if err != nil {
		return "", err
	}
	detail, err := n.machine.Health(ctx, boot.Wanted{Type: n.identity.Type, EFA: stack.EFADevices(n.cluster.file, resource, n.identity.Type)})
	detail = fmt.Sprintf("%s; checks before jobs: %s; after them: %s", detail, prolog, epilog)
	n.tell(blindOf(detail))
	_, unwritten := n.machine.Write(services.NodeHealth, services.HealthScript(options...), 0o755, "")
	return detail, errors.Join(err, unwritten)
}

// healthOptions say what the node has now, for those that look at it later: every few minutes, and before jobs.
func (n *node) healthOptions() ([]string, error) {
	gpus, efa := n.machine.Devices()
	options := []string{"--gpus", strconv.Itoa(gpus), "--efa", strconv.Itoa(efa), "--disk", "/"}
	if dir, err := n.scratchDir(); err == nil && dir != "" {
		options = append(options, "--disk", dir)
	}
	for _, s := range n.cluster.site.Storage {
		w, err := boot.MountOf(s, n.Ticket.Head)
		if err != nil {
			return nil, err
		}
		options = append(options, "--mount", w.Target)
	}
	return options, nil
}

// nodeContainers makes what steps in containers need, and keeps for the head node that
// they will see no GPU.
func (n *node) nodeContainers(ctx context.Context) (string, error) {
	detail, err := n.containers(ctx)
	if _, why, ok := strings.Cut(detail, boot.NoGPUs); ok {
		n.tell("containers see no GPU: " + why)
	}
	return detail, err
}

// tell keeps what the head node is to hear with the node's readiness.
func (n *node) tell(what string) { n.blind = strings.Trim(n.blind+"; "+what, "; ") }

// blindOf is what a step could not check, as its detail says.
func blindOf(detail string) string {
	var parts []string
	for part := range strings.SplitSeq(detail, "; ") {
		if _, what, ok := strings.Cut(part, "blind: "); ok {
			parts = append(parts, what)
		}
	}
	return strings.Join(parts, "; ")
}
