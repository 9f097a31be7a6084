// Package catalog holds facts about the machines that a cluster file names: the
// CPUs, memory, accelerators and network of an EC2 instance type, and its price.
//
// Types with accelerators come from a dated list that is built into the
// program (Source), or from a newer one that stands beside it (Newer).
// General-purpose types are derived from their names and say so (Derived).
// Nothing is looked up elsewhere, and nothing is parsed when the program starts.
package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
)

//go:generate go run ./gen

// Instance is an EC2 instance type.
type Instance struct {
	// Type is the name, for example "p5e.48xlarge".
	Type string `json:"type"`
	// VCPUs are hardware threads, all cores and threads together.
	VCPUs int `json:"vcpus"`
	// ThreadsPerCore is 2 where cores run two threads, otherwise 1.
	ThreadsPerCore int `json:"threads_per_core"`
	MemoryMiB      int `json:"memory_mib"`
	// Arch is amd64 or arm64.
	Arch string `json:"arch"`
	GPU  GPU    `json:"gpu"`
	// Accelerator names devices that are no GPUs (AWS Neuron, Qualcomm), such
	// as "trainium2", and AcceleratorCount counts them.
	Accelerator      string `json:"accelerator,omitempty"`
	AcceleratorCount int    `json:"accelerator_count,omitempty"`
	// EFA is the number of EFA interfaces, 0 if there is none or it is not known.
	EFA int `json:"efa"`
	// NetworkMbps is the baseline, not the burst; 0 is not known.
	NetworkMbps int `json:"network_mbps"`
	// NVMeGB is the instance's own disks together; 0 is none or not known.
	NVMeGB int `json:"nvme_gb"`
	// Derived says that the facts follow from the type's name, by the rules in
	// derive.go, and are not listed.
	Derived bool `json:"derived,omitempty"`
}

// GPU are an instance's GPUs, all equal.
type GPU struct {
	// Name is in Slurm's style, for example "h200"; empty if there is no GPU.
	Name string `json:"name,omitempty"`
	// Count is 0 with a Name where the instance has a part of a GPU.
	Count int `json:"count"`
	// MemoryMiB is for one GPU.
	MemoryMiB int `json:"memory_mib,omitempty"`
}

// Lookup finds an instance type, listed or derived. It does not find types of
// families with accelerators that are not listed.
func Lookup(instanceType string) (Instance, bool) {
	if o, ok := beside().find(instanceType); ok {
		return o.Instance, true
	}
	return builtIn(instanceType)
}

func builtIn(instanceType string) (Instance, bool) {
	i, found := slices.BinarySearchFunc(listed[:], instanceType, func(in Instance, name string) int {
		return cmp.Compare(in.Type, name)
	})
	if found {
		return listed[i], true
	}
	return derive(instanceType)
}

// Names are the listed types in alphabetical order.
func Names() []string {
	names := make([]string, len(listed))
	for i, in := range listed {
		names[i] = in.Type
	}
	if n := beside(); n != nil {
		for _, o := range n.Types {
			names = append(names, o.Type)
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	return names
}

// Nearest is the instance type that a misspelt name most probably stands for, empty
// if none is near.
func Nearest(name string) string {
	family, _, _ := strings.Cut(name, ".")
	relatives := slices.DeleteFunc(Names(), func(n string) bool { return !strings.HasPrefix(n, family+".") })
	for _, size := range sizes {
		if in, ok := derive(family + "." + size); ok {
			relatives = append(relatives, in.Type)
		}
	}
	if near := diag.Nearest(name, append(relatives, Names()...)); near != "" {
		return near
	}
	if len(relatives) == 1 {
		return relatives[0]
	}
	return ""
}
