package lint

import (
	"path"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// scratchMounts finds shared storage at, in or around the directory of the nodes'
// own disks where the file does not name that directory: it is /scratch then
// (ParallelCluster's DuplicateMountDirValidator and OverlappingMountDirValidator).
// Directories that the file names are compared when the file is read.
func scratchMounts(root spec.View, items []spec.View) {
	volume, machines := scratchUser(root)
	if machines == "" {
		return
	}
	local := volume.Key("MountDir").Text()
	for _, s := range items {
		mount := s.Key("MountDir")
		if !filled(mount) {
			continue
		}
		switch dir := path.Clean("/" + mount.Text()); {
		case dir == local:
			mount.Warnf("storage/mount", "the own disks of %s are at %s, too", machines, local).
				WithHint("choose another directory, or move the disks with LocalStorage: {EphemeralVolume: {MountDir: ...}}")
		case overlaps(dir, local):
			mount.Errorf("storage/overlap", "%s and %s, where the own disks of %s are, lie in each other", dir, local, machines).
				WithHint("choose another directory, or move the disks with LocalStorage: {EphemeralVolume: {MountDir: ...}}")
		}
	}
}

// scratchUser is the first instance type whose disks are mounted at the default
// directory, and the settings that could say otherwise; none if the text is empty.
func scratchUser(root spec.View) (spec.View, string) {
	head := root.Key("HeadNode")
	volume := head.At("LocalStorage.EphemeralVolume")
	if t := head.Key("InstanceType"); !volume.Key("MountDir").Present() && withDisks(t) {
		return volume, t.Text()
	}
	for _, q := range root.At("Scheduling.SlurmQueues").Items() {
		volume := q.At("ComputeSettings.LocalStorage.EphemeralVolume")
		if volume.Key("MountDir").Present() {
			continue
		}
		for _, t := range instanceTypes(q) {
			if withDisks(t) {
				return volume, t.Text()
			}
		}
	}
	return spec.View{}, ""
}

// withDisks reports whether it is known that an instance type has disks of its own.
func withDisks(t spec.View) bool {
	in, ok := catalog.Lookup(t.Text())
	return filled(t) && ok && in.HasDisks()
}

// instanceTypes are all instance types that a queue names.
func instanceTypes(q spec.View) []spec.View {
	var types []spec.View
	for _, r := range q.Key("ComputeResources").Items() {
		if many := r.Key("Instances"); len(many.Items()) > 0 {
			for _, item := range many.Items() {
				types = append(types, item.Key("InstanceType"))
			}
			continue
		}
		types = append(types, r.Key("InstanceType"))
	}
	return types
}
