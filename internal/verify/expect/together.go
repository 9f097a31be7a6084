package expect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify"
)

// Streams are how many connections the suite network has between two nodes.
const Streams = 4

// collectives are those of nccl-tests that the suite nccl measures, in its order.
var collectives = []string{"all_reduce", "all_gather", "broadcast", "reduce", "reduce_scatter", "alltoall"}

// together is what equal compute nodes are held against when they measure together: on one of them, on 2, on 10 and on all.
func together(c *spec.Cluster, w *spec.Workload, r *spec.ComputeResource, instanceType string) []Expectation {
	in, _ := catalog.Lookup(instanceType)
	var all []Expectation
	for _, n := range numbers(r.MaxCount) {
		for _, name := range collectives {
			all = append(all, collective(Group{InstanceType: instanceType, Nodes: n, GPUs: in.GPU.Count, Collective: name}))
		}
	}
	if r.MaxCount >= 2 {
		all = append(all, measured(Expectation{Suite: verify.Network, Check: "network-bandwidth", On: "2 nodes"}, Traffic(instanceType, Streams)))
	}
	for _, f := range FileSystems(c, w) {
		for _, check := range []string{"storage-write", "storage-read"} {
			all = append(all, f.rates(check, numbers(r.MaxCount), in.NetworkMbps)...)
		}
	}
	return all
}

// numbers are of how many nodes something is said, at most as many as there are.
func numbers(most int) []int {
	all := slices.DeleteFunc([]int{1, 2, 10, most}, func(n int) bool { return n > most || n < 1 })
	slices.Sort(all)
	return slices.Compact(all)
}

// unpublished is why a bandwidth is measured and not judged.
const unpublished = "nothing is published: it is measured, shown, and held against an earlier report"

func collective(g Group) Expectation {
	e := Expectation{Suite: verify.NCCL, Check: strings.ReplaceAll(g.Collective, "_", "-") + "-bandwidth", On: count.Of(g.Nodes, "node")}
	if g.GPUs == 0 {
		e.Skip = g.InstanceType + " has no GPUs"
		return e
	}
	b := BusBandwidth(g)
	if b.Unknown != "" {
		b.Unknown = unpublished
	}
	return measured(e, b)
}

// measured completes an expectation with a bandwidth.
func measured(e Expectation, b Bandwidth) Expectation {
	if len(b.At) == 0 {
		e.Skip = b.Unknown
		return e
	}
	var at []string
	for _, s := range b.At {
		text := fmt.Sprintf("%.4g GB/s", s.GBps)
		if s.Bytes > 0 {
			text += fmt.Sprintf(" from %d GiB", s.Bytes/gib)
		}
		at = append(at, text)
	}
	e.Want, e.Source, e.Soft = fmt.Sprintf("%s (%s)", strings.Join(at, ", "), b.Confidence), b.Source, b.Confidence == Extrapolated
	return e
}

// rates are what numbers of nodes get of a file system, those that get as much as one.
func (f FileSystem) rates(check string, nodes []int, networkMbps int) []Expectation {
	var all []Expectation
	first := 0
	for i, n := range nodes {
		e := f.rate(check, n, networkMbps)
		if i > 0 && e.Want == f.rate(check, nodes[i-1], networkMbps).Want {
			all[len(all)-1].On = fmt.Sprintf("%s %d to %d nodes", f.Mount, first, n)
			continue
		}
		first = n
		e.On = f.Mount + " " + count.Of(n, "node")
		all = append(all, e)
	}
	return all
}

// rate is what a number of nodes gets of it.
func (f FileSystem) rate(check string, nodes, networkMbps int) Expectation {
	gbps, read, by := f.Together(nodes, networkMbps)
	if check == "storage-read" {
		gbps = read
	}
	e := Expectation{Suite: verify.Storage, Check: check, Source: f.Source, Soft: f.Soft != ""}
	switch {
	case f.Unrated != "":
		e.Skip = f.Unrated
	case gbps <= 0:
		e.Skip = "its rating is not known"
	default:
		e.Want = fmt.Sprintf("%.3g GB/s (%s)", gbps, by)
	}
	return e
}
