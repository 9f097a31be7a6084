package expect

import "github.com/muster-hpc/muster/internal/spec"

// Table is what is expected of each kind of machine of a file, in production: the head node, the pools of login nodes, and the
// compute resources, one for each of their instance types, with what they come to together. w may be nil.
func Table(c *spec.Cluster, w *spec.Workload, override []Override) []Node {
	named := func(name string, count int, s Subject) Node {
		s.Cluster, s.Workload, s.Override = c, w, override
		n := Expected(s)
		n.Name, n.Count = name, count
		return n
	}
	all := []Node{named("head", 1, Subject{Role: Head, Type: c.HeadNode.InstanceType})}
	for _, p := range c.LoginPools {
		all = append(all, named(p.Name, p.Count, Subject{Role: Login, Type: p.InstanceType}))
	}
	for i := range c.Scheduling.Queues {
		q := &c.Scheduling.Queues[i]
		for j := range q.ComputeResources {
			r := &q.ComputeResources[j]
			for _, t := range r.InstanceTypes {
				n := named(q.Name+"/"+r.Name, r.MaxCount, Subject{Role: Compute, Queue: q, Resource: r, Type: t})
				n.All = append(n.All, together(c, w, r, t)...)
				all = append(all, n)
			}
		}
	}
	return all
}

// Row is one expectation of one kind of machine, for a table.
type Row struct {
	Node         string `json:"node"`
	InstanceType string `json:"instance_type"`
	// Nodes is a host list of Slurm's, empty for other machines than compute nodes.
	Nodes  string `json:"nodes,omitempty"`
	Suite  string `json:"suite"`
	Check  string `json:"check"`
	On     string `json:"on,omitempty"`
	Want   string `json:"want,omitempty"`
	Source string `json:"source,omitempty"`
	// Skip is why nothing is expected.
	Skip string `json:"skip,omitempty"`
}

// Rows are the expectations of machines, one after the other.
func Rows(nodes []Node) []Row {
	var all []Row
	for _, n := range nodes {
		for _, e := range n.All {
			all = append(all, Row{Node: n.Name, InstanceType: n.InstanceType, Nodes: n.Nodes, Suite: e.Suite, Check: e.Check, On: e.On, Want: e.Want, Source: e.Source, Skip: e.Skip})
		}
	}
	return all
}
