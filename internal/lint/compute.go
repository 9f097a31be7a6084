package lint

import (
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// compute has the rules about queues, compute resources and Slurm. They are
// ParallelCluster's unless a comment says otherwise.
func compute(root spec.View, all []resource, level spec.Level) {
	queueLimits(root.At("Scheduling.SlurmQueues"))
	capacity(all)
	efa(all)
	placement(root.At("Scheduling.SlurmQueues"), all)
	machines(root, all)
	for _, x := range all {
		instances(x, level)
		if root.At("Scheduling.SlurmSettings.EnableMemoryBasedScheduling").Bool() {
			sameMemory(x)
		}
	}
	computeTags(root, all)
	slurmRules(root.Key("Scheduling"))
}

// resource is a compute resource with what follows from it and from its queue.
type resource struct {
	view, queue spec.View
	// kinds are its instance types, as far as they are known.
	kinds []kind
	// list is Instances, where it has several types and is not a single one.
	list spec.View
	// several says that it has Instances.
	several bool
	// spread says that its queue has several subnets. They have to be in different
	// availability zones, so that the queue is in several of them.
	spread bool
	// group is the placement group that holds for it: its own or its queue's.
	group group
}

// kind is an instance type at its place in the file.
type kind struct {
	at spec.View
	catalog.Instance
	traits catalog.Traits
	// known says that there are traits.
	known bool
}

// resources are the compute resources of all queues.
func resources(root spec.View) []resource {
	var all []resource
	known := types{}
	for _, q := range root.At("Scheduling.SlurmQueues").Items() {
		for _, r := range q.Key("ComputeResources").Items() {
			x := resource{view: r, queue: q, list: r.Key("Instances"), spread: len(subnets(q)) > 1, group: groupOf(q, r)}
			x.several = len(x.list.Items()) > 0
			for _, item := range x.list.Items() {
				x.kinds = known.appendTo(x.kinds, item.Key("InstanceType"))
			}
			if !x.several {
				x.kinds = known.appendTo(nil, r.Key("InstanceType"))
			}
			all = append(all, x)
		}
	}
	return all
}

// types are those that were looked up; a file names few of them often.
type types map[string]kind

// appendTo adds a type to others if it is known.
func (t types) appendTo(kinds []kind, at spec.View) []kind {
	if !at.Present() {
		return kinds
	}
	k, there := t[at.Text()]
	if !there {
		k.Instance, _ = catalog.Lookup(at.Text())
		k.traits, k.known = catalog.TraitsOf(at.Text())
		if !k.known {
			k.traits.EFA = k.EFA
		}
		t[at.Text()] = k
	}
	if k.Type == "" {
		return kinds
	}
	k.at = at
	return append(kinds, k)
}

// capacityType is the capacity type of the resource's queue.
func (x resource) capacityType() string { return x.queue.Key("CapacityType").Text() }

// subnets are the different subnets of a queue.
func subnets(q spec.View) []string {
	var all seen
	var found []string
	for _, id := range q.At("Networking.SubnetIds").Texts() {
		if all.first(id) {
			found = append(found, id)
		}
	}
	return found
}

// seen remembers words, so that one thing is reported once.
type seen map[string]bool

// first reports whether a word was not seen before.
func (s *seen) first(word string) bool {
	if (*s)[word] {
		return false
	}
	if *s == nil {
		*s = seen{}
	}
	(*s)[word] = true
	return true
}

const (
	// maxQueues and maxResources are ParallelCluster's limits; the second one
	// holds for a queue and for the whole cluster.
	maxQueues    = 50
	maxResources = 50
)

// queueLimits holds ParallelCluster's MaxCountValidator for queues.
func queueLimits(queues spec.View) {
	if n := len(queues.Items()); n > maxQueues {
		queues.Errorf("queue/limit", "there are %d queues; ParallelCluster takes %d", n, maxQueues).
			WithHint("a queue can have several compute resources")
	}
	total, reported := 0, false
	for _, q := range queues.Items() {
		n := len(q.Key("ComputeResources").Items())
		total += n
		if n > maxResources {
			reported = true
			q.Key("ComputeResources").Errorf("queue/limit", "queue %s has %d compute resources; a cluster can have %d", q.Key("Name").Text(), n, maxResources).
				WithHint("a compute resource can have several instance types below Instances")
		}
	}
	if total > maxResources && !reported {
		queues.Errorf("queue/limit", "the queues have %d compute resources together; a cluster can have %d", total, maxResources).
			WithHint("a compute resource can have several instance types below Instances")
	}
}

// machines has the rules about instance types together with the head node, the
// operating system and the image.
func machines(root spec.View, all []resource) {
	head := root.At("HeadNode.InstanceType")
	for _, k := range (types{}).appendTo(nil, head) {
		for _, x := range all {
			architecture(x, k)
		}
	}
	image := root.Key("Image")
	system := image.Key("Os")
	smallInstance(head, system)
	gpuDriver(head, image, root.At("HeadNode.Image"))
	for _, pool := range root.At("LoginNodes.Pools").Items() {
		if pool.At("Image.CustomAmi").Present() {
			smallInstance(pool.Key("InstanceType"), system)
		}
	}
	for _, x := range all {
		for _, k := range x.kinds {
			smallInstance(k.at, system)
			gpuDriver(k.at, image, x.queue.Key("Image"))
			accelerator(k)
		}
		superchip(x, system)
		memory(x)
	}
}

// architecture holds that nodes run the head node's binaries
// (InstanceArchitectureCompatibilityValidator).
func architecture(x resource, head kind) {
	for _, k := range x.kinds {
		if k.Arch != head.Arch {
			k.at.Errorf("compute/architecture", "%s is %s, and the head node's %s is %s", k.Type, processor(k.Arch), head.Type, processor(head.Arch)).
				WithHint("all nodes share one image and /opt/slurm: take types of one architecture")
		}
	}
}

// processor is an architecture by AWS's name.
func processor(arch string) string {
	if arch == "amd64" {
		return "x86_64"
	}
	return arch
}

// smallInstance finds machines with less memory than an operating system needs
// (InstanceTypeOSCompatibleValidator).
func smallInstance(at, system spec.View) {
	_, size, _ := strings.Cut(at.Text(), ".")
	if !at.Present() || !system.Given() || size != "micro" && size != "nano" {
		return
	}
	switch system.Text() {
	case "alinux2", "alinux2023":
	default:
		at.Warnf("compute/small-instance", "%s has too little memory for %s", at.Text(), system.Text()).
			WithHint("take a type with 2 GiB of memory or more")
	}
}

// superchip finds operating systems that P6e-GB200 does not run
// (InstanceTypeOSCompatibleValidator).
func superchip(x resource, system spec.View) {
	types := append(x.list.Items(), x.view)
	for _, item := range types {
		at := item.Key("InstanceType")
		if !at.Present() || !system.Given() || !strings.HasPrefix(at.Text(), "p6e-gb200.") {
			continue
		}
		switch system.Text() {
		case "alinux2", "rhel8", "rhel9", "rocky8":
			at.Errorf("compute/os", "%s does not run %s", at.Text(), system.Text()).
				WithHint("write Os: alinux2023, ubuntu2204, ubuntu2404 or rocky9")
		}
	}
}

// gpuDriver finds GPUs that are older than the open driver in ParallelCluster's
// own images (InstanceTypeBaseAMICompatibleValidator). Rocky has no such image.
func gpuDriver(at, image, own spec.View) {
	system := image.Key("Os").Text()
	if !at.Present() || own.Key("CustomAmi").Present() || image.Key("CustomAmi").Present() || strings.HasPrefix(system, "rocky") {
		return
	}
	family, _, _ := strings.Cut(at.Text(), ".")
	switch family {
	case "g2", "g3", "g3s", "p2", "p3", "p3dn":
		at.Errorf("compute/gpu-driver", "the GPUs of %s are too old for the NVIDIA driver of ParallelCluster's images", at.Text()).
			WithHint("take G4dn, P4d or newer, or an image of your own with the closed driver: Image: {CustomAmi: ami-...}")
	}
}

// accelerator finds devices whose drivers ParallelCluster's images do not have
// (InstanceTypeAcceleratorManufacturerValidator).
func accelerator(k kind) {
	if maker := inferenceMaker(k.Instance); maker != "" && maker != "AWS" {
		k.at.Warnf("compute/accelerator", "ParallelCluster's images have no driver for the accelerators of %s, made by %s", k.Type, maker).
			WithHint("use an image of your own with the driver: Image: {CustomAmi: ami-...}")
	}
}

// memory holds SchedulableMemory against the memory of the smallest type
// (SchedulableMemoryValidator).
func memory(x resource) {
	at := x.view.Key("SchedulableMemory")
	if !at.Given() || len(x.kinds) == 0 {
		return
	}
	least := x.kinds[0]
	for _, k := range x.kinds {
		if k.MemoryMiB < least.MemoryMiB {
			least = k
		}
	}
	switch {
	case at.Int() > least.MemoryMiB:
		at.Errorf("compute/memory", "SchedulableMemory is %d MiB, and %s has %d MiB", at.Int(), least.Type, least.MemoryMiB).
			WithHint("remove it to give jobs 95 %% of the memory, which is %d MiB", least.MemoryMiB*95/100)
	case at.Int() < least.MemoryMiB*95/100:
		at.Infof("compute/memory-share", "jobs get %d of the %d MiB of %s; without SchedulableMemory they get 95 %%", at.Int(), least.MemoryMiB, least.Type).
			WithHint("remove it unless the rest is needed on the nodes")
	}
}
