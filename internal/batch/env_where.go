package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
)

// answer is what is known of a question.
type answer int

const (
	unclear answer = iota
	no
	yes
)

// agree is the answer if all are one.
func agree[T any](all []T, ask func(T) answer) answer {
	if len(all) == 0 {
		return unclear
	}
	first := ask(all[0])
	if slices.ContainsFunc(all, func(x T) bool { return ask(x) != first }) {
		return unclear
	}
	return first
}

func truth(is bool) answer {
	if is {
		return yes
	}
	return no
}

// resources are the groups of nodes that the job may run on.
func (s *script) resources() []Resource {
	var all []Resource
	for _, q := range s.queues() {
		all = append(all, q.Resources...)
	}
	return all
}

// instances are the types that the job may run on, as far as the catalogue has
// them.
func (s *script) instances() []catalog.Instance {
	var all []catalog.Instance
	for _, r := range s.resources() {
		for _, name := range r.InstanceTypes {
			if in, ok := catalog.Lookup(name); ok {
				all = append(all, in)
			}
		}
	}
	return all
}

// machine is the type of the first node, for people.
func (s *script) machine() string {
	for _, r := range s.resources() {
		if len(r.InstanceTypes) > 0 {
			return r.InstanceTypes[0]
		}
	}
	return "this one"
}

// concerns tells whether a row of the table is for the job's machines.
func (s *script) concerns(scope string) answer {
	switch scope {
	case "efa":
		if s.alone() {
			return no
		}
		return s.efa()
	case "network":
		return truth(!s.alone() && s.efa() != no)
	case "nvlink":
		return s.nvlink()
	case "nvswitch":
		return agree(s.instances(), nvswitch)
	case "rdma":
		return agree(s.instances(), func(in catalog.Instance) answer { return truth(rdma(in)) })
	case "norma":
		if agree(s.instances(), func(in catalog.Instance) answer { return truth(slices.Contains(withoutRDMA, family(in))) }) == yes {
			return yes
		}
		return no
	}
	return yes
}

// alone tells whether the job surely has one node, so that no network counts.
func (s *script) alone() bool { return s.job.exact && s.job.minNodes == 1 && s.job.nodes.Name != "" }

// efa tells whether traffic between the job's nodes goes over EFA.
func (s *script) efa() answer {
	if s.facts == nil || !s.facts.Filed {
		return unclear
	}
	return agree(s.resources(), func(r Resource) answer { return truth(r.EFA) })
}

func (s *script) nvlink() answer {
	return agree(s.instances(), func(in catalog.Instance) answer {
		if in.GPU.Count == 1 {
			return no
		}
		link, ok := in.Links()
		if !ok {
			return unclear
		}
		return truth(link.Kind == "NVLink")
	})
}

// nvswitch tells whether the GPUs of a type are joined by switches that add up
// (NVLink SHARP), which came with H100.
func nvswitch(in catalog.Instance) answer {
	return truth(in.GPU.Count >= 8 && slices.Contains([]string{"h100", "h200", "b200", "b300"}, in.GPU.Name))
}

// withoutRDMA are families with EFA and GPUs whose network cards cannot read and
// write memory of other nodes: the user guide of EC2, "Elastic Fabric Adapter",
// table of supported instance types.
var withoutRDMA = []string{"p3dn", "g4dn", "g5"}

// rdma tells whether the network cards of a type surely reach the memory of its
// GPUs: doc/efa-env-var.md of aws-ofi-nccl says so of P4 and P5, and its
// platform-aws.cpp of P6.
func rdma(in catalog.Instance) bool {
	return slices.ContainsFunc([]string{"p4", "p5", "p6"}, func(p string) bool { return strings.HasPrefix(in.Type, p) }) && in.EFA > 0
}

func family(in catalog.Instance) string {
	name, _, _ := strings.Cut(in.Type, ".")
	return name
}

// measures tells whether the job measures the network or the GPUs, and sets
// things on purpose that training should not.
func (s *script) measures() bool {
	return slices.ContainsFunc(s.words, func(w word) bool {
		name := w.text[strings.LastIndexByte(w.text, '/')+1:]
		return strings.HasSuffix(name, "_perf") || name == "nccl-tests" || strings.HasPrefix(name, "nccl-tests-")
	})
}
