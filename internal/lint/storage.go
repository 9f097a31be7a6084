package lint

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

// storage has the rules about file systems and volumes.
func storage(root spec.View) {
	items := root.Key("SharedStorage").Items()
	for _, s := range items {
		switch spec.KindOf(s) {
		case spec.EBS:
			ebsStorage(s)
		case spec.EFS:
			efsStorage(s)
		case spec.Lustre:
			lustreStorage(s)
		case spec.FileCache:
			homeCache(s)
		}
		deletion(s)
	}
	storageIDs(items)
	storageCounts(items)
	storageZones(root, items)
	ebsBottleneck(root, items)
	scratchMounts(root, items)
	rootVolumes(root)
}

// filled reports whether a rule can use a plain value: it is there, sound, and
// not the empty text, which ParallelCluster reads as absent.
func filled(v spec.View) bool { return v.Given() && v.Text() != "" }

// settingsOf are the settings that go with an entry's storage type.
func settingsOf(s spec.View) spec.View { return spec.KindOf(s).Settings(s) }

// existingID is the id of a file system or volume that exists already. What
// it stands for is a new one if the id is not there.
func existingID(s spec.View) spec.View { return spec.KindOf(s).ID(s) }

// known reports whether an entry's storage type exists.
func known(s spec.View) bool { return s.Key("StorageType").Given() }

// homeCache holds ParallelCluster's SharedFileCacheNotHomeValidator.
func homeCache(s spec.View) {
	if mount := s.Key("MountDir"); mount.Present() && path.Clean("/"+mount.Text()) == "/home" {
		mount.Errorf("storage/home-cache", "a file cache cannot be mounted at /home").
			WithHint("choose another directory, or another file system for /home")
	}
}

// deletion says what becomes of the data (ParallelCluster's DeletionPolicyValidator).
func deletion(s spec.View) {
	if !known(s) || !spec.KindOf(s).Makeable() {
		return
	}
	policy := settingsOf(s).Key("DeletionPolicy")
	if !policy.Sound() || !policy.Present() && existingID(s).Present() {
		return
	}
	if policy.Text() == "Delete" {
		policy.Infof("storage/deletion", "ParallelCluster deletes the data of %s with the cluster, and when the file no longer has it; muster does with `down --delete-data`", quoted(s.Key("Name").Text())).
			WithHint("DeletionPolicy: Retain keeps it from both")
	}
}

// storageIDs holds that nothing is mounted twice (ParallelCluster's
// DuplicateNameValidator for storage ids).
func storageIDs(items []spec.View) {
	first := map[string]spec.View{}
	for _, s := range items {
		if !known(s) {
			continue
		}
		id := existingID(s)
		if !filled(id) {
			continue
		}
		if before, twice := first[id.Text()]; twice {
			id.Errorf("storage/id", "%s is here twice", id.Text()).
				WithHint("the first is in line %d; one file system has one MountDir", before.Line())
			continue
		}
		first[id.Text()] = id
	}
}

// storageZones says where data crosses availability zones, and that a new Lustre
// file system is in one subnet (ParallelCluster's ManagedFsxMultiAzValidator,
// MultiAzRootVolumeValidator and MultiAzEbsVolumeValidator).
func storageZones(root spec.View, items []spec.View) {
	if len(items) == 0 {
		return
	}
	var all []string
	for _, q := range root.At("Scheduling.SlurmQueues").Items() {
		subnets := q.At("Networking.SubnetIds")
		if !subnets.Given() {
			continue
		}
		all = append(all, subnets.Texts()...)
		if n := distinct(subnets.Texts()); n > 1 {
			subnets.Infof("storage/zones", "the queue's %d subnets are in different availability zones, and shared storage is slower and costs more across zones", n)
		}
	}
	n := distinct(all)
	for _, s := range items {
		if kind := s.Key("StorageType"); kind.Given() && spec.KindOf(s) == spec.Lustre && !existingID(s).Present() && n > 1 {
			existingID(s).Errorf("storage/lustre-subnets", "a new Lustre file system is in one subnet, and the queues have %d", n).
				WithHint("give all queues the same subnet, or name a file system that exists with FileSystemId")
		}
	}
}

// distinct is how many different texts there are.
func distinct(texts []string) int {
	sorted := slices.Sorted(slices.Values(texts))
	return len(slices.Compact(sorted))
}

// overlaps reports whether one of two clean directories is inside of the other.
func overlaps(a, b string) bool {
	return strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}
