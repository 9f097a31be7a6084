// Package expect says what is right for a node of an instance type and where that is from: versions, counts, bandwidths.
//
// An expectation is data: what a check compares, what is said where it does not hold, and its source. There is none without.
// Package judge compares; what is shown before anything runs is the same list.
package expect

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify"
)

// Role is what a machine does in its cluster.
type Role string

// Roles of machines.
const (
	Head    Role = "head"
	Login   Role = "login"
	Compute Role = "compute"
)

// Expectation is what is right for one check. Of Must, Should, Words and Bands it has what the check compares with.
type Expectation struct {
	// Suite and Check are as in verify.Result; On is a mount's directory.
	Suite string `json:"suite"`
	Check string `json:"check"`
	On    string `json:"on,omitempty"`
	// Want is what is right, in words, and Source where that is from.
	Want   string `json:"want"`
	Source string `json:"source"`
	// Must are bounds beyond which a number fails, Should those beyond which it is worth a warning.
	Must   Range `json:"must,omitzero"`
	Should Range `json:"should,omitzero"`
	// Words are the texts one of which is right.
	Words []string `json:"words,omitempty"`
	// Bands are versions that are not right.
	Bands []Band `json:"bands,omitempty"`
	// Soft says that it is a warning where it does not hold.
	Soft bool `json:"soft,omitempty"`
	// Why is what follows where it does not hold, Hint what to do.
	Why  string `json:"why,omitempty"`
	Hint string `json:"hint,omitempty"`
	// Skip is why nothing is expected here.
	Skip string `json:"skip,omitempty"`
	// Required says that the suite fails if nobody could look.
	Required bool `json:"required,omitempty"`
}

// Range is from Least to Most, nil where there is no bound.
type Range struct {
	Least *float64 `json:"least,omitempty"`
	Most  *float64 `json:"most,omitempty"`
}

// Holds says whether a number is within the range.
func (r Range) Holds(n float64) bool {
	return (r.Least == nil || n >= *r.Least) && (r.Most == nil || n <= *r.Most)
}

func least(n float64) Range   { return Range{Least: &n} }
func most(n float64) Range    { return Range{Most: &n} }
func exactly(n float64) Range { return Range{Least: &n, Most: &n} }

// Band are versions of which something is to be said: those from From on and below Below, "" for all.
type Band struct {
	From  string `json:"from,omitempty"`
	Below string `json:"below,omitempty"`
	// With and WithFrom say that it holds only beside another program from a version on: that of a check, such as "container-nccl".
	With     string `json:"with,omitempty"`
	WithFrom string `json:"with_from,omitempty"`
	// Verdict is Fail or Warn.
	Verdict verify.Verdict `json:"verdict"`
	Why     string         `json:"why"`
	Source  string         `json:"source"`
}

// Node is what is expected of one machine, or of each of equal ones.
type Node struct {
	// Name is head, a pool of login nodes, or queue/resource.
	Name         string `json:"name"`
	Role         Role   `json:"role"`
	InstanceType string `json:"instance_type,omitempty"`
	// Count is how many of them there may be, Nodes their names in Slurm, as a host list.
	Count int           `json:"count,omitempty"`
	Nodes string        `json:"nodes,omitempty"`
	All   []Expectation `json:"expectations"`
}

// Of are the expectations of a suite.
func (n Node) Of(suite string) []Expectation {
	return slices.DeleteFunc(slices.Clone(n.All), func(e Expectation) bool { return e.Suite != suite })
}

// Subject is a machine of which something is expected.
type Subject struct {
	// Cluster is the cluster's file, nil where there is none.
	Cluster *spec.Cluster
	// Workload is muster.yaml, nil where there is none: it may have file systems of its own.
	Workload *spec.Workload
	Role     Role
	// Queue and Resource are a compute node's.
	Queue    *spec.Queue
	Resource *spec.ComputeResource
	// Type is the instance type, empty where it is not known.
	Type string
	// Rehearsal says that the machine only stands for one of Type, as in a local cluster.
	Rehearsal bool
	// Alone says that the machine is looked at without Slurm, which may not run yet.
	Alone bool
	// Diagnosis is the level of DCGM's diagnosis, 0 for the first.
	Diagnosis int
	// Override are what a user expects instead.
	Override []Override
}

// rehearsed is why nothing is expected of what a local node does not have.
const (
	rehearsed    = "a rehearsal: nodes of this machine have no GPUs of their own"
	rehearsedEFA = "a rehearsal: nodes of this machine have no EFA"
)

// Expected is what is right for a machine.
func Expected(s Subject) Node {
	t, known := catalog.Lookup(s.Type)
	b := builder{Subject: s, kind: t, known: known}
	b.efa = known && t.EFA > 0 && (s.Resource == nil || s.Resource.EFA) && s.Role == Compute
	b.host()
	b.storage()
	b.gpu()
	b.fabric()
	b.container()
	all := b.all
	for _, o := range s.Override {
		all = o.apply(all)
	}
	return Node{Role: s.Role, InstanceType: s.Type, All: all}
}

// builder gathers the expectations of a subject.
type builder struct {
	Subject
	kind  catalog.Instance
	known bool
	// efa says that the machine has EFA's devices.
	efa bool
	all []Expectation
}

func (b *builder) add(suite string, all ...Expectation) {
	for _, e := range all {
		e.Suite = suite
		b.all = append(b.all, e)
	}
}

// skipped are expectations that do not hold here, and why.
func skipped(why string, all []Expectation) []Expectation {
	for i := range all {
		if all[i].Skip == "" {
			all[i].Skip = why
		}
	}
	return all
}

// listed is the catalogue as a source.
func (b *builder) listed() string {
	if b.kind.Derived {
		return "the rules by which muster's catalogue reads " + b.Type
	}
	return "muster's catalogue of " + catalog.AsOf() + " (EC2's DescribeInstanceTypes)"
}

func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func ofFile(c *spec.Cluster, path string) string {
	if c == nil || c.File == "" {
		return "the cluster file's " + path
	}
	return fmt.Sprintf("%s: %s", c.File, path)
}
