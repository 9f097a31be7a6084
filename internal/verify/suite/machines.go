//go:build linux

package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/scan"
)

// scanLimit is how long a look at all machines may take: each bounds its own programs.
const scanLimit = 3 * time.Minute

// look has all machines tell of themselves, once. Who told nothing has its reason in blind.
func (r *run) look(ctx context.Context) error {
	if r.asked {
		return nil
	}
	r.asked, r.facts, r.blind = true, map[string]verify.Facts{}, map[string]string{}
	r.Tell("looks at the machines")
	args, limit := r.muster("scan", "--parts", "--at="+time.Now().Format(time.RFC3339Nano)), scanLimit
	if slices.Contains(r.Suites, verify.GPU) && r.Diagnosis > 1 {
		wait := r.diagnosisWait(ctx)
		args, limit = append(args, "--diagnosis="+strconv.Itoa(r.Diagnosis), "--diagnosis-wait="+wait.String()), scanLimit+wait
	}
	facts, err := r.scanned(ctx, stepOptions{args: args, limit: limit})
	for _, n := range r.alloc.nodes {
		if f, ok := facts[n]; ok {
			r.facts[n] = f
			continue
		}
		if r.blind[n] = errSilent.Error(); err != nil {
			r.blind[n] = err.Error()
		}
	}
	if r.Head != "" {
		now := time.Now()
		f, err := scan.Machine(ctx, scan.Options{Now: now, Asked: now})
		if err != nil {
			return fmt.Errorf("look at the head node: %w", err)
		}
		r.facts[head] = f
	}
	return nil
}

// diagnosisWait is how long DCGM's diagnosis may take: so long that what else was seen is told before the budget is spent.
func (r *run) diagnosisWait(ctx context.Context) time.Duration {
	wait := scan.DiagnosisLimit(r.Diagnosis)
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)-tellWait)
	}
	return max(wait, time.Second)
}

// tellWait is what is left of a budget to tell what was seen.
const tellWait = 15 * time.Second

// head is what the head node is called in results.
const head = "head"

// scanned are the facts that a step tells, by node.
func (r *run) scanned(ctx context.Context, o stepOptions) (map[string]verify.Facts, error) {
	parts := gathered{}
	err := r.lines(ctx, o, func(line string) { parts.take(line) })
	back := time.Now()
	all := map[string]verify.Facts{}
	for _, n := range r.alloc.nodes {
		answer, ok := parts.answer(n)
		if !ok {
			continue
		}
		var f verify.Facts
		if wrong := json.Unmarshal(answer, &f); wrong != nil {
			r.blind[n] = wrong.Error()
			continue
		}
		f.Clock.Back = back
		all[n] = f
	}
	return all, err
}

// machines is the suite host, gpu or efa.
func (r *run) machines(suite string) func(context.Context, *verify.Suite) error {
	return func(ctx context.Context, s *verify.Suite) error {
		if err := r.look(ctx); err != nil {
			return err
		}
		for _, name := range r.machineNames(suite) {
			f, ok := r.facts[name]
			if !ok {
				s.Results = append(s.Results, verify.Result{Check: suite, On: name, Verdict: verify.Blind, Why: r.blind[name], Required: true})
				continue
			}
			if suite == verify.GPU && r.hidden != "" {
				s.Results = append(s.Results, verify.Result{Check: suite, On: name, Verdict: verify.Blind, Why: r.hidden, Required: true})
				continue
			}
			s.Results = append(s.Results, judged(suite)(name, f, r.right(name))...)
			if suite == verify.GPU && r.Place != "local" && r.Alone == "" {
				s.Results = append(s.Results, lostGPUs(name, f, r.alloc.gpus)...)
			}
		}
		switch suite {
		case verify.Host:
			results, versions := judge.Versions(r.computeFacts())
			if r.report.Identity.Versions = versions; r.Alone == "" { // one machine is like itself
				s.Results = append(s.Results, results...)
			}
		case verify.Basic:
			s.Results = append(s.Results, judge.Apart(r.sharedDirs(), r.computeMounts())...)
		}
		return nil
	}
}

// lostGPUs fails a node that was seen to have none of the GPUs that Slurm gives jobs there. A rehearsal's nodes never have them.
func lostGPUs(node string, f verify.Facts, given int) []verify.Result {
	if n, blind := f.GPU.OnBus.See(); blind != "" || n > 0 || given == 0 {
		return nil
	}
	return []verify.Result{{Check: "gpu-gone", On: node, Verdict: verify.Fail, Found: "no GPU on the PCI bus", Want: count.Of(given, "GPU"),
		Why: "jobs that ask for GPUs get this node, and have none", Source: "Slurm, which gave them to this job", Required: true}}
}

// computeFacts are what the nodes told.
func (r *run) computeFacts() map[string]verify.Facts {
	all := map[string]verify.Facts{}
	for _, n := range r.alloc.nodes {
		if f, ok := r.facts[n]; ok {
			all[n] = f
		}
	}
	return all
}

// computeMounts are the nodes' mounts, of those that told them.
func (r *run) computeMounts() map[string][]verify.Mount {
	all := map[string][]verify.Mount{}
	for n, f := range r.computeFacts() {
		if mounts, blind := f.Mounts.See(); blind == "" {
			all[n] = mounts
		}
	}
	return all
}

// sharedDirs are where the cluster's file systems are mounted.
func (r *run) sharedDirs() []string {
	var all []string
	for _, f := range r.shared() {
		all = append(all, f.Mount)
	}
	return all
}

// judged is what judges the machines of a suite.
func judged(suite string) func(string, verify.Facts, expect.Node) []verify.Result {
	switch suite {
	case verify.GPU:
		return judge.GPU
	case verify.EFA:
		return judge.EFA
	case verify.Basic:
		return judge.Basic
	}
	return judge.Host
}

// mounts looks at the cluster's mounts on all machines.
func (r *run) mounts(ctx context.Context, s *verify.Suite) error {
	return r.machines(verify.Basic)(ctx, s)
}

// machineNames are the nodes, and for host the head node, too: no GPU is right there.
func (r *run) machineNames(suite string) []string {
	names := slices.Clone(r.alloc.nodes)
	if _, ok := r.facts[head]; ok && (suite == verify.Host || suite == verify.Basic) {
		names = append(names, head)
	}
	return names
}

// right is what is expected of a machine.
func (r *run) right(name string) expect.Node { return expect.Expected(r.subject(name)) }

// subject is a machine as what something is expected of.
func (r *run) subject(name string) expect.Subject {
	s := expect.Subject{Cluster: r.File, Workload: r.Workload, Role: expect.Compute, Type: r.types[name], Rehearsal: r.Place == "local", Alone: r.Alone != "", Diagnosis: r.Diagnosis, Override: r.override}
	if name == head {
		s.Role = expect.Head
		if r.File != nil {
			s.Type = r.File.HeadNode.InstanceType
		}
		return s
	}
	s.Queue, s.Resource = r.resource(name)
	if s.Resource != nil && s.Type == "" && len(s.Resource.InstanceTypes) == 1 {
		s.Type = s.Resource.InstanceTypes[0]
	}
	return s
}

// identifyTypes says which instance types nodes have, by Slurm or by the cluster file.
func (r *run) identifyTypes() {
	for _, n := range r.alloc.nodes {
		if t := r.right(n).InstanceType; t != "" {
			r.types[n] = t
		}
	}
	for _, t := range r.types {
		if !slices.Contains(r.report.Identity.InstanceTypes, t) {
			r.report.Identity.InstanceTypes = append(r.report.Identity.InstanceTypes, t)
		}
	}
	slices.Sort(r.report.Identity.InstanceTypes)
}

// kind is the instance type of the nodes, if they have one and it is known.
func (r *run) kind() (catalog.Instance, bool) {
	if len(r.report.Identity.InstanceTypes) != 1 {
		return catalog.Instance{}, false
	}
	return catalog.Lookup(r.report.Identity.InstanceTypes[0])
}

// resource is the queue and compute resource of a node, by the cluster file; nil where it has none.
func (r *run) resource(node string) (queue *spec.Queue, resource *spec.ComputeResource) {
	if r.File == nil {
		return nil, nil
	}
	for i := range r.File.Scheduling.Queues {
		q := &r.File.Scheduling.Queues[i]
		for j := range q.ComputeResources {
			c := &q.ComputeResources[j]
			if _, ok := slurm.ParseNodeName(node, func(n slurm.NodeName) bool { return n.Queue == q.Name && n.Name == c.Name }); ok {
				return q, c
			}
		}
	}
	return nil, nil
}

// container looks into the image on each node.
func (r *run) container(ctx context.Context, s *verify.Suite) error {
	if r.Image == "" {
		s.Results = append(s.Results, verify.Result{Check: verify.Container, Verdict: verify.Skip, Why: "no image was named: --image IMAGE looks into one"})
		return nil
	}
	if err := r.look(ctx); err != nil { // the host's, beside which the container's versions are judged
		return err
	}
	o := stepOptions{args: r.muster("scan", "--container", "--parts"), limit: scanLimit + pullLimit, image: r.Image}
	o.mounts = []string{r.program + ":" + r.program + ":ro"}
	facts, err := r.scanned(ctx, o)
	for _, n := range r.alloc.nodes {
		f, ok := facts[n]
		if !ok {
			why := errSilent
			if err != nil {
				why = err
			}
			s.Results = append(s.Results, verify.Result{Check: verify.Container, On: n, Verdict: verify.Fail, Want: "a container of " + r.Image, Why: why.Error(), Required: true})
			continue
		}
		s.Results = append(s.Results, judge.Container(n, f, r.right(n))...)
	}
	return nil
}

// pullLimit is what an image may take to come.
const pullLimit = 10 * time.Minute
