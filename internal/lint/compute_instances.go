package lint

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
)

// instances has the rules about compute resources with several instance types:
// Slurm sees all nodes of a compute resource as equal.
func instances(x resource, level spec.Level) {
	noInstances(x)
	if !x.several || len(x.kinds) < 2 {
		return
	}
	sameCPUs(x)
	sameAccelerators(x)
	sameCards(x)
	if level >= 15 {
		sameEFA(x)
	}
}

// noInstances finds a list of types without types, which ParallelCluster cannot
// read, even beside InstanceType.
func noInstances(x resource) {
	if !x.list.Given() || x.several {
		return
	}
	d := x.list.Errorf("instances/none", "Instances of compute resource %s has no instance type", x.view.Key("Name").Text()).
		WithHint("add one as \"- InstanceType: c6i.large\", or write InstanceType")
	if x.view.Key("InstanceType").Present() {
		d.WithHint("remove Instances").WithFix(x.list.Remove())
	}
}

// unequal is the first type that differs from the type before it.
func unequal[T comparable](x resource, value func(kind) T) (before, other kind, found bool) {
	for i := 1; i < len(x.kinds); i++ {
		if value(x.kinds[i]) != value(x.kinds[i-1]) {
			return x.kinds[i-1], x.kinds[i], true
		}
	}
	return kind{}, kind{}, false
}

// sameCPUs holds that types have equally many CPUs, or cores where each core runs
// one thread (InstancesCPUValidator).
func sameCPUs(x resource) {
	what, count := "vCPUs", func(k kind) int { return k.VCPUs }
	if x.view.Key("DisableSimultaneousMultithreading").Bool() {
		what, count = "cores", func(k kind) int { return k.VCPUs / k.ThreadsPerCore }
	}
	if a, b, differ := unequal(x, count); differ {
		b.at.Errorf("instances/cpus", "%s has %d %s, and %s has %d", b.Type, count(b), what, a.Type, count(a)).
			WithHint("nodes of one compute resource have equally many; make another compute resource")
	}
}

// sameAccelerators holds that types have the same GPUs and inference devices in
// number and maker (InstancesAcceleratorsValidator).
func sameAccelerators(x resource) {
	gpus := func(k kind) int { return k.GPU.Count }
	if a, b, differ := unequal(x, gpus); differ {
		b.at.Errorf("instances/accelerators", "%s has %s, and %s has %d", b.Type, count.Of(gpus(b), "GPU"), a.Type, gpus(a)).
			WithHint("nodes of one compute resource have equally many; make another compute resource")
	} else if a, b, differ := unequal(x, gpuMaker); differ {
		b.at.Errorf("instances/accelerators", "one of %s and %s has GPUs, or a part of one, and the other has none", a.Type, b.Type).
			WithHint("make another compute resource")
	}
	devices := func(k kind) int { return inferenceCount(k.Instance) }
	if a, b, differ := unequal(x, devices); differ {
		b.at.Errorf("instances/accelerators", "%s has %d inference accelerators, and %s has %d", b.Type, devices(b), a.Type, devices(a)).
			WithHint("nodes of one compute resource have equally many; make another compute resource")
	} else if a, b, differ := unequal(x, func(k kind) string { return inferenceMaker(k.Instance) }); differ {
		b.at.Errorf("instances/accelerators", "the accelerators of %s and %s are of different makers", a.Type, b.Type).
			WithHint("make another compute resource")
	}
}

// gpuMaker is the maker of an instance's GPUs: all of the catalog's are NVIDIA's.
func gpuMaker(k kind) string {
	if k.GPU.Name == "" {
		return ""
	}
	return "NVIDIA"
}

// inferenceMaker is the maker of an instance's inference accelerators as EC2 counts
// them: Trainium does not count.
func inferenceMaker(in catalog.Instance) string {
	switch {
	case strings.HasPrefix(in.Accelerator, "inferentia"):
		return "AWS"
	case strings.HasPrefix(in.Accelerator, "qualcomm"):
		return "Qualcomm"
	default:
		return ""
	}
}

// inferenceCount is the number of AWS's inference accelerators, which Slurm can
// give to jobs.
func inferenceCount(in catalog.Instance) int {
	if inferenceMaker(in) == "AWS" {
		return in.AcceleratorCount
	}
	return 0
}

// sameCards says that nodes get as many network cards as the weakest type
// (InstancesNetworkingValidator).
func sameCards(x resource) {
	cards := func(k kind) int { return k.traits.Cards }
	if a, b, differ := unequal(x, cards); differ && x.traitsKnown() {
		x.list.Warnf("instances/network", "%s has %d network cards and %s has %d: all nodes get the smallest number", a.Type, cards(a), b.Type, cards(b)).
			WithHint("make another compute resource")
	}
}

// sameEFA says that nodes get as many EFA interfaces as the weakest type
// (InstancesNetworkingValidator since 3.15).
func sameEFA(x resource) {
	adapters := func(k kind) int { return k.traits.EFA }
	if a, b, differ := unequal(x, adapters); differ && x.traitsKnown() {
		x.list.Warnf("instances/efa", "%s has %d EFA interfaces and %s has %d: all nodes get the smallest number", a.Type, adapters(a), b.Type, adapters(b)).
			WithHint("make another compute resource")
	}
}

// traitsKnown reports whether there are traits of all types.
func (x resource) traitsKnown() bool {
	return !slices.ContainsFunc(x.kinds, func(k kind) bool { return !k.known })
}

const (
	// memoryGapMiB and memoryGapPercent are how far types may differ in memory.
	memoryGapMiB     = 4096
	memoryGapPercent = 20
)

// sameMemory finds types whose memory jobs cannot use, as Slurm counts with the
// smallest (InstancesMemorySchedulingWarningValidator).
func sameMemory(x resource) {
	if !x.several || len(x.kinds) < 2 {
		return
	}
	least, most := x.kinds[0], x.kinds[0]
	for _, k := range x.kinds {
		if k.MemoryMiB < least.MemoryMiB {
			least = k
		}
		if k.MemoryMiB > most.MemoryMiB {
			most = k
		}
	}
	gap := most.MemoryMiB - least.MemoryMiB
	if gap > memoryGapMiB && gap*100 > least.MemoryMiB*memoryGapPercent {
		x.list.Warnf("instances/memory", "jobs get the %d MiB of %s on every node, also on %s with %d MiB", least.MemoryMiB, least.Type, most.Type, most.MemoryMiB).
			WithHint("make another compute resource")
	}
}
