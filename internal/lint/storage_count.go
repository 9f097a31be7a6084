package lint

import "github.com/muster-hpc/muster/internal/spec"

// storageLimit is how many file systems of a kind ParallelCluster takes (its
// NumberOfStorageValidator).
type storageLimit struct {
	of       func(s spec.View) bool
	existing bool
	most     int
	// name is of one, names of several.
	name, names string
}

var storageLimits = []storageLimit{
	{of: newKind(spec.EFS), most: 1, name: "new EFS file system", names: "new EFS file systems"},
	{of: newKind(spec.Lustre), most: 1, name: "new Lustre file system", names: "new Lustre file systems"},
	{of: newArray, most: 1, name: "new RAID array", names: "new RAID arrays"},
	{of: existingEfs, existing: true, most: 20, names: "EFS file systems that exist already"},
	{of: existingFsx, existing: true, most: 20, names: "FSx file systems that exist already"},
	{of: singleVolume, existing: true, most: 5, names: "EBS volumes"},
}

// storageCounts reports the entries behind a limit. Of new file systems muster
// makes as many as the file has, so that is a warning.
func storageCounts(items []spec.View) {
	for _, limit := range storageLimits {
		n := 0
		for _, s := range items {
			if !known(s) || !limit.of(s) {
				continue
			}
			n++
			switch {
			case n <= limit.most:
			case limit.existing:
				s.Key("StorageType").Errorf("storage/limit", "a cluster has at most %d %s, and this is number %d", limit.most, limit.names, n).
					WithHint("remove some, or use one for several directories")
			default:
				s.Key("StorageType").Warnf("storage/count", "ParallelCluster refuses more than %d %s; muster makes all of them", limit.most, limit.name).
					WithHint("for ParallelCluster, make the others yourself and name them with %s", existingID(s).Name())
			}
		}
	}
}

// newKind tells file systems of a type that are to be made.
func newKind(kind spec.StorageKind) func(spec.View) bool {
	return func(s spec.View) bool { return spec.KindOf(s) == kind && !filled(existingID(s)) }
}

func newArray(s spec.View) bool {
	return spec.KindOf(s) == spec.EBS && s.At("EbsSettings.Raid").Present()
}

func singleVolume(s spec.View) bool {
	return spec.KindOf(s) == spec.EBS && !s.At("EbsSettings.Raid").Present()
}

func existingEfs(s spec.View) bool {
	return spec.KindOf(s) == spec.EFS && filled(existingID(s))
}

func existingFsx(s spec.View) bool {
	switch spec.KindOf(s) {
	case spec.OpenZFS, spec.ONTAP, spec.FileCache:
		return true
	default:
		return spec.KindOf(s) == spec.Lustre && filled(existingID(s))
	}
}
