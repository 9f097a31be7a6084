package stack

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// Set are the stacks of a cluster.
type Set struct {
	Base *Stack
	// Storage is nil where the cluster makes no file system and no volume.
	Storage *Stack
	Cluster *Stack

	m *maker
}

// Stack is one CloudFormation stack.
type Stack struct {
	Name     string
	Template cfn.Template
	// Inputs are the template's parameters: each is given the output of the same name
	// of an earlier stack.
	Inputs []string
	// Tags are for the stack itself; its resources have them in the template.
	Tags map[string]string
}

// New decides the stacks of a cluster. The file has passed its checks; w may be
// nil. An error names everything that cannot be made.
func New(file *spec.Cluster, w *spec.Workload, f Facts) (Set, error) {
	if w == nil {
		w = &spec.Workload{}
	}
	m := &maker{file: file, work: w, facts: f}
	set := Set{Base: m.base(), Storage: m.storage(), Cluster: m.cluster(), m: m}
	for _, s := range set.Stacks() {
		body, err := s.Body()
		if err == nil && s == set.Base && len(body) > cfn.MaxInlineBytes {
			err = fmt.Errorf("stack %s has %d bytes, and CloudFormation takes %d where there is no bucket yet: name fewer security groups", s.Name, len(body), cfn.MaxInlineBytes)
		}
		if err != nil {
			m.problems = append(m.problems, err)
		}
	}
	return set, errors.Join(m.problems...)
}

// Stacks are those that there are, in the order in which they are made. They are
// taken away in the other one.
func (s Set) Stacks() []*Stack {
	all := []*Stack{s.Base, s.Storage, s.Cluster}
	return slices.DeleteFunc(all, func(one *Stack) bool { return one == nil })
}

// Body is the template as it is sent to CloudFormation. Above cfn.MaxInlineBytes it
// has to be sent by way of a bucket; the base stack, which makes the bucket, never
// is that large: New refuses it.
func (s *Stack) Body() ([]byte, error) {
	body, err := s.Template.JSON()
	if err != nil {
		return nil, fmt.Errorf("write stack %s: %w", s.Name, err)
	}
	return body, nil
}

// Widened is Body with everything of a former template of the stack that has left
// it; wider says that there is such. Stacks are added to from the first to the last
// and taken away from the other way round: until the later stacks have changed, their
// resources use what leaves the earlier ones. So the stacks before the cluster's are
// changed to this, then the cluster's, then they to Body.
func (s *Stack) Widened(former []byte) (body []byte, wider bool, err error) {
	next, err := s.Body()
	if err != nil {
		return nil, false, err
	}
	if body, wider, err = cfn.Union(next, former); err != nil {
		return nil, false, fmt.Errorf("widen stack %s: %w", s.Name, err)
	}
	return body, wider, nil
}

// Site is what the machines of the cluster are told, from the outputs of all
// stacks. It fails where one is missing. Revision, Version and Written are the
// caller's.
func (s Set) Site(outputs map[string]string) (manifest.Site, error) { return s.m.site(outputs) }

// values are the outputs of the stacks by which a value is found.
type values struct {
	outputs map[string]string
	missing map[string]bool
}

func (v *values) of(x value) string {
	if x.literal != "" {
		return x.literal
	}
	text, ok := v.outputs[x.name]
	if !ok {
		v.missing[x.name] = true
	}
	return text
}

// networks are those of all subnets that the cluster's machines are in.
func (m *maker) networks() []string {
	subnets := []value{m.net.head}
	for _, q := range m.file.Scheduling.Queues {
		subnets = append(subnets, m.queueSubnets(q)...)
	}
	for _, l := range m.file.LoginPools {
		subnets = append(subnets, m.poolSubnets(l)...)
	}
	var all []string
	for _, s := range subnets {
		all = append(all, cmp.Or(m.net.blocks[s.name], m.facts.Subnets[s.literal].CIDR))
	}
	all = unique(all)
	slices.Sort(all)
	return all
}

func (m *maker) site(outputs map[string]string) (manifest.Site, error) {
	v := &values{outputs: outputs, missing: map[string]bool{}}
	out := manifest.Site{
		Cluster: m.facts.Name, Region: m.facts.Region, Partition: m.facts.Partition, Account: m.facts.Account,
		Programs: m.facts.Programs, Bucket: v.of(m.bucket), Subnets: map[string][]string{"": {v.of(m.net.head)}},
	}
	if m.file.Monitoring.Logs.Enabled {
		out.LogGroup = v.of(m.logGroup)
	}
	for _, q := range m.file.Scheduling.Queues {
		for _, subnet := range m.queueSubnets(q) {
			out.Subnets[q.Name] = append(out.Subnets[q.Name], v.of(subnet))
		}
	}
	out.Networks = m.networks()
	for _, mount := range m.mounts {
		out.Storage = append(out.Storage, mount.site(v))
	}
	if len(v.missing) > 0 {
		return out, fmt.Errorf("the stacks of cluster %s have no output %s", m.facts.Name, slices.Sorted(maps.Keys(v.missing)))
	}
	return out, nil
}
