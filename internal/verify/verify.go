// Package verify has the words of a verification: what a check found, what a suite of checks comes to, and the report that
// a team can keep, attach and compare. Other packages look, measure and judge; this one only says what they found, and its
// JSON only ever gets more fields.
package verify

import "time"

// JobName is what Slurm's jobs of a verification are called.
const JobName = "muster-verify"

// Verdict is what a check comes to.
type Verdict string

// What cannot be looked at is Blind, and what does not apply is Skip: neither is ever a Pass.
const (
	Pass  Verdict = "pass"
	Warn  Verdict = "warn"
	Fail  Verdict = "fail"
	Skip  Verdict = "skip"
	Blind Verdict = "blind"
)

// Names of suites, in the order in which they run.
const (
	Basic       = "basic"
	Host        = "host"
	Container   = "container"
	GPU         = "gpu"
	EFA         = "efa"
	NCCL        = "nccl"
	Collectives = "collectives"
	Network     = "network"
	Storage     = "storage"
	Slurm       = "slurm"
)

// Suites are all suites, in the order in which they run.
func Suites() []string {
	return []string{Basic, Host, Container, GPU, EFA, NCCL, Collectives, Network, Storage, Slurm}
}

// AloneSuites are those that a machine can run alone, without Slurm, in the order in which they run.
func AloneSuites() []string {
	return []string{Host, GPU, EFA, NCCL, Collectives, Storage}
}

// Result is what one check found on one thing.
type Result struct {
	// Check names what was looked at, in words of lower case with dashes, such as "gpu-count". It never changes its meaning.
	Check string `json:"check"`
	// On is where: a node, a host list, "a+b" for a pair of nodes, a mount, "head" for the head node; empty for the cluster.
	On      string  `json:"on,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Found is what was seen and Want what is right, in words: "7 GPUs" and "8 GPUs".
	Found string `json:"found,omitempty"`
	Want  string `json:"want,omitempty"`
	// Why says why it is no pass, Hint what to do about it.
	Why  string `json:"why,omitempty"`
	Hint string `json:"hint,omitempty"`
	// Source says where Want is from: a page, the cluster file, the catalogue with its date, or an earlier report.
	Source string `json:"source,omitempty"`
	// Required says that the suite fails if this is blind.
	Required bool `json:"required,omitempty"`
	// Value is what was measured, nil if it is no number.
	Value *Value `json:"value,omitempty"`
	// Evidence are lines that programs printed, a few of them.
	Evidence []string `json:"evidence,omitempty"`
}

// Value is a measured number.
type Value struct {
	Number float64 `json:"number"`
	// Unit is such as "GB/s", "us", "ops/s", "s".
	Unit string `json:"unit"`
	// Expected is what it should be, 0 where that is not known, and Lower says that less is better.
	Expected float64 `json:"expected,omitempty"`
	Lower    bool    `json:"lower,omitempty"`
	// Doubt is how far Number may be off either way, 0 where that is not known.
	Doubt float64 `json:"doubt,omitempty"`
}

// Series is a curve that was measured, such as the bus bandwidth of a collective over the size of its messages.
type Series struct {
	// Name is such as "all_reduce", On as in Result.
	Name string `json:"name"`
	On   string `json:"on,omitempty"`
	// XUnit and YUnit are the units of the points: "B" and "GB/s".
	XUnit  string  `json:"x_unit"`
	YUnit  string  `json:"y_unit"`
	Points []Point `json:"points"`
	// Expected is what Y should come to at its best, 0 where that is not known.
	Expected float64 `json:"expected,omitempty"`
	Source   string  `json:"source,omitempty"`
}

// Point is one of a Series.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Matrix is what was measured between each two of some nodes: a heat map.
type Matrix struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Lower says that less is better.
	Lower bool     `json:"lower,omitempty"`
	Nodes []string `json:"nodes"`
	// Pairs are what was measured, not necessarily all.
	Pairs []Pair `json:"pairs"`
}

// Pair is a measurement between two nodes, by their places in Matrix.Nodes.
type Pair struct {
	A     int     `json:"a"`
	B     int     `json:"b"`
	Value float64 `json:"value"`
	// Round is the round of pairings in which it was measured, from 0: pairs of one round load the network together.
	Round int `json:"round"`
}

// Suite is what a suite found.
type Suite struct {
	Name string `json:"name"`
	// Verdict is what its results come to, Why says so where one reason holds for all of it.
	Verdict  Verdict   `json:"verdict"`
	Why      string    `json:"why,omitempty"`
	Began    time.Time `json:"began"`
	Seconds  float64   `json:"seconds"`
	Jobs     []int     `json:"jobs,omitempty"` // Slurm's
	Results  []Result  `json:"results"`
	Series   []Series  `json:"series,omitempty"`
	Matrices []Matrix  `json:"matrices,omitempty"`
}

// Identity is which cluster was verified, and by what.
type Identity struct {
	// Cluster is its name in Slurm, empty for a machine that was looked at alone. Place is local, aws, or empty for one that muster did not make.
	Cluster string `json:"cluster"`
	Place   string `json:"place,omitempty"`
	// File is the cluster file's path and FileSHA256 the sum of its text, empty where it is not known.
	File       string `json:"file,omitempty"`
	FileSHA256 string `json:"file_sha256,omitempty"`
	// Muster and Slurm are their versions. Versions are those that nodes told, by the program's name; a node that differs is a result.
	Muster   string            `json:"muster"`
	Slurm    string            `json:"slurm,omitempty"`
	Versions map[string]string `json:"versions,omitempty"`
	// InstanceTypes are those of the nodes, where they are known.
	InstanceTypes []string `json:"instance_types,omitempty"`
}

// Report is what a verification found.
type Report struct {
	// Schema is 1.
	Schema   int       `json:"schema"`
	Identity Identity  `json:"identity"`
	Began    time.Time `json:"began"`
	Seconds  float64   `json:"seconds"`
	// Partition and Nodes are what was verified.
	Partition string   `json:"partition,omitempty"`
	Nodes     []string `json:"nodes"`
	Verdict   Verdict  `json:"verdict"`
	// Counts are how many results have each verdict.
	Counts map[Verdict]int `json:"counts"`
	Suites []Suite         `json:"suites"`
	// Error is what ended it before its last suite.
	Error string `json:"error,omitempty"`
}

// Of is what was verified, for people: the cluster, or the machine that was looked at alone.
func (r Report) Of() string {
	if r.Identity.Cluster == "" && len(r.Nodes) == 1 {
		return r.Nodes[0]
	}
	return r.Identity.Cluster
}
