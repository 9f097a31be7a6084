package lint

import (
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// ebsStorage has the rules about a shared volume.
func ebsStorage(s spec.View) {
	ebs := s.Key("EbsSettings")
	ebsSpeed(ebs)
	if ebs.Key("Size").Sound() {
		ebsSize(ebs, ebs.Key("Size").Int())
	}
	keyEncrypted(ebs)
}

// officialGiB is how large ParallelCluster's own images are at most (its
// EBS_ROOT_VOLUME_SIZE_DEFAULT of 3.13 to 3.16).
const officialGiB = 45

// rootVolumes has the rules about the nodes' root volumes. Without Size they are
// as large as their image; how large an image of the user's is, is not known.
func rootVolumes(root spec.View) {
	own := root.At("Image.CustomAmi").Present()
	head := root.Key("HeadNode")
	rootVolume(head.At("LocalStorage.RootVolume"), own || head.At("Image.CustomAmi").Present())
	queues := root.At("Scheduling.SlurmQueues").Items()
	for _, q := range queues {
		rootVolume(q.At("ComputeSettings.LocalStorage.RootVolume"), own || q.At("Image.CustomAmi").Present())
	}
	rootEncryption(queues)
}

func rootVolume(v spec.View, ownImage bool) {
	size := v.Key("Size")
	if !bootable(v.Key("VolumeType")) {
		return
	}
	ebsSpeed(v)
	switch {
	case size.Given():
		ebsSize(v, size.Int())
	case size.Present() || ownImage:
		ebsIops(v, 0)
	default:
		ebsIops(v, officialGiB)
	}
}

// bootable reports types that a root volume cannot have. ParallelCluster does not
// look at those of queues; AWS refuses both.
// https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html
func bootable(kind spec.View) bool {
	if !kind.Given() {
		return kind.Sound()
	}
	v, ok := catalog.VolumeOf(kind.Text())
	switch {
	case !ok:
		kind.Errorf("ebs/root-type", "%s is no type of EBS volume", quoted(kind.Text())).WithHint("write gp3, gp2, io1, io2 or standard")
	case !v.Boots:
		kind.Errorf("ebs/root-type", "a root volume cannot be %s: these disks cannot boot", kind.Text()).WithHint("write gp3, gp2, io1, io2 or standard")
	}
	return ok && v.Boots
}

// ebsSize holds ParallelCluster's EbsVolumeTypeSizeValidator and its
// EbsVolumeIopsValidator.
func ebsSize(v spec.View, size int) {
	kind, at := v.Key("VolumeType"), v.Key("Size")
	limits, ok := catalog.VolumeOf(kind.Text())
	if !ok || !kind.Sound() {
		return
	}
	if size < limits.MinGiB || size > limits.MaxGiB {
		ebsIops(v, 0)
	} else {
		ebsIops(v, size)
	}
	switch {
	case size > limits.MaxGiB:
		at.Errorf("ebs/size", "a volume of type %s has at most %d GiB, and Size is %d", limits.Type, limits.MaxGiB, size).
			WithHint("write %d or less", limits.MaxGiB)
	case size < limits.MinGiB && at.Present():
		at.Errorf("ebs/size", "a volume of type %s has at least %d GiB, and Size is %d", limits.Type, limits.MinGiB, size).
			WithHint("write %d or more", limits.MinGiB)
	case size < limits.MinGiB:
		kind.Errorf("ebs/size", "a volume of type %s has at least %d GiB, and without Size it has %d", limits.Type, limits.MinGiB, size).
			WithHint("add Size: %d or more", limits.MinGiB)
	}
}

// ebsIops holds ParallelCluster's EbsVolumeIopsValidator. A size of 0 is not known.
func ebsIops(v spec.View, size int) {
	kind, at := v.Key("VolumeType"), v.Key("Iops")
	limits, ok := catalog.VolumeOf(kind.Text())
	if !ok || !kind.Sound() || !at.Sound() {
		return
	}
	iops := ebsIopsOf(v, limits)
	switch {
	case iops == 0:
	case limits.MaxIops == 0:
		at.Errorf("ebs/iops", "Iops cannot be set for a volume of type %s", limits.Type).
			WithHint("remove it, or write VolumeType: gp3")
	case iops < limits.MinIops || iops > limits.MaxIops:
		at.Errorf("ebs/iops", "a volume of type %s has %d to %d IOPS, and Iops is %d", limits.Type, limits.MinIops, limits.MaxIops, iops).
			WithHint("write %d", min(max(iops, limits.MinIops), limits.MaxIops))
	case size > 0 && iops > size*limits.IopsPerGiB:
		at.Errorf("ebs/iops", "%d IOPS are too many for %d GiB of type %s", iops, size, limits.Type).
			WithHint("each GiB allows %d IOPS: write Size: %d or more", limits.IopsPerGiB, (iops+limits.IopsPerGiB-1)/limits.IopsPerGiB)
	}
}

// ebsIopsOf are a volume's IOPS, ParallelCluster's default included.
func ebsIopsOf(v spec.View, limits catalog.Volume) int {
	if at := v.Key("Iops"); at.Present() {
		return at.Int()
	}
	return limits.DefaultIops
}

// ebsSpeed holds ParallelCluster's EbsVolumeThroughputValidator and
// EbsVolumeThroughputIopsValidator. That other types have no throughput to set
// is AWS's rule.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVolume.html
func ebsSpeed(v spec.View) {
	kind, at := v.Key("VolumeType"), v.Key("Throughput")
	limits, ok := catalog.VolumeOf(kind.Text())
	if !ok || !kind.Sound() || !at.Sound() || !v.Key("Iops").Sound() {
		return
	}
	speed := limits.DefaultThroughput
	if at.Present() {
		speed = at.Int()
	}
	iops := ebsIopsOf(v, limits)
	switch {
	case limits.MaxThroughput == 0 && speed > 0:
		at.Errorf("ebs/throughput", "Throughput cannot be set for a volume of type %s", limits.Type).
			WithHint("remove it, or write VolumeType: gp3")
	case limits.MaxThroughput == 0:
	case speed < limits.MinThroughput || speed > limits.MaxThroughput:
		at.Errorf("ebs/throughput", "a volume of type %s has %d to %d MiB/s, and Throughput is %d", limits.Type, limits.MinThroughput, limits.MaxThroughput, speed).
			WithHint("write %d", min(max(speed, limits.MinThroughput), limits.MaxThroughput))
	case speed > iops/catalog.IopsPerThroughput:
		at.Errorf("ebs/throughput", "%d MiB/s are too much for %d IOPS", speed, iops).
			WithHint("each MiB/s needs %d IOPS: write Iops: %d", catalog.IopsPerThroughput, speed*catalog.IopsPerThroughput)
	}
}

// rootEncryption holds ParallelCluster's RootVolumeEncryptionConsistencyValidator.
func rootEncryption(queues []spec.View) {
	for i, q := range queues {
		first := queues[0].At("ComputeSettings.LocalStorage.RootVolume.Encrypted")
		at := q.At("ComputeSettings.LocalStorage.RootVolume.Encrypted")
		if i == 0 || !at.Sound() || !first.Sound() || at.Bool() == first.Bool() {
			continue
		}
		if !at.Present() {
			at = q.Key("Name")
		}
		at.Warnf("ebs/root-encryption", "root volumes of this queue are %s, and those of %s are %s",
			encryption(!first.Bool()), queues[0].Key("Name").Text(), encryption(first.Bool())).
			WithHint("encrypt all of them; a policy of your organization may demand it")
	}
}

func encryption(on bool) string {
	if on {
		return "encrypted"
	}
	return "not encrypted"
}

// maxEBSNodes is from where ParallelCluster warns of volumes that the head node
// shares.
const maxEBSNodes = 100

// ebsBottleneck holds ParallelCluster's SharedEbsPerformanceBottleNeckValidator.
func ebsBottleneck(root spec.View, items []spec.View) {
	nodes, ok := mostNodes(root)
	if !ok || nodes <= maxEBSNodes {
		return
	}
	for _, s := range items {
		if kind := s.Key("StorageType"); kind.Given() && spec.KindOf(s) == spec.EBS {
			kind.Warnf("ebs/bottleneck", "%d nodes read this volume through the network of the head node", nodes).
				WithHint("use FsxLustre or Efs for what many nodes read")
		}
	}
}

// mostNodes is the sum of MaxCount; false if a count is not sound.
func mostNodes(root spec.View) (int, bool) {
	total := 0
	for _, q := range root.At("Scheduling.SlurmQueues").Items() {
		for _, r := range q.Key("ComputeResources").Items() {
			if !r.Key("MaxCount").Sound() {
				return 0, false
			}
			total += r.Key("MaxCount").Int()
		}
	}
	return total, true
}
