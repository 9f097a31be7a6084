package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// lustreStorage has the rules about a Lustre file system that is to be made.
func lustreStorage(s spec.View) {
	lustre := s.Key("FsxLustreSettings")
	if lustre.Key("FileSystemId").Present() {
		return
	}
	lustreBackups(lustre)
	lustreCapacity(lustre)
	lustreThroughput(lustre)
	lustreDisks(lustre)
	lustreBucket(lustre)
	lustreLinks(lustre)
	lustreRestored(lustre)
}

// written reports whether the file has a value that is not empty. It may have a
// problem of its own, where that it is there at all is the other one.
func written(v spec.View) bool { return v.Present() && v.Text() != "" }

// deployment is the DeploymentType of a file system; a restored one has none
// in the file. It is false if the value has a problem.
func deployment(lustre spec.View) (string, bool) {
	kind := lustre.Key("DeploymentType")
	if filled(lustre.Key("BackupId")) && !kind.Present() {
		return "", true
	}
	return kind.Text(), kind.Sound()
}

func persistent(deployment string) bool {
	return deployment == "PERSISTENT_1" || deployment == "PERSISTENT_2"
}

// ofBackup are the keys that a file system takes from its backup.
var ofBackup = []string{
	"DeploymentType", "PerUnitStorageThroughput", "StorageCapacity", "ImportPath", "ExportPath", "ImportedFileChunkSize", "KmsKeyId",
}

// lustreRestored holds what ParallelCluster's schema says of BackupId.
func lustreRestored(lustre spec.View) {
	if !lustre.Key("BackupId").Present() {
		return
	}
	for _, key := range ofBackup {
		if v := lustre.Key(key); v.Present() {
			v.Errorf("lustre/backup-settings", "%s cannot be set with BackupId: the backup has it", key).
				WithHint("remove it")
		}
	}
}

// lustreThroughput holds ParallelCluster's FsxPersistentOptionsValidator, and the part of
// its FsxStorageTypeOptionsValidator that is about throughput.
func lustreThroughput(lustre spec.View) {
	kind, ok := deployment(lustre)
	speed, key, disks := lustre.Key("PerUnitStorageThroughput"), lustre.Key("KmsKeyId"), lustre.Key("StorageType")
	if !ok || lustre.Key("BackupId").Present() {
		return
	}
	if !persistent(kind) && filled(key) {
		key.Errorf("lustre/key", "a file system of type %s has no KMS key of yours", kind).
			WithHint("remove it, or write DeploymentType: PERSISTENT_2")
	}
	if !speed.Sound() || !disks.Sound() {
		return
	}
	allowed := catalog.LustreThroughput(kind, disks.Text() == "HDD")
	switch {
	case !persistent(kind) && speed.Int() != 0:
		speed.Errorf("lustre/throughput", "PerUnitStorageThroughput is for file systems of type PERSISTENT_1 and PERSISTENT_2, not %s", kind).
			WithHint("remove it, or write DeploymentType: PERSISTENT_2")
	case !persistent(kind):
	case speed.Int() == 0:
		lustre.Key("DeploymentType").Errorf("lustre/throughput", "a file system of type %s needs PerUnitStorageThroughput", kind).
			WithHint("add PerUnitStorageThroughput with one of %s (MB/s for each TiB)", oneOf(allowed))
	case len(allowed) > 0 && !slices.Contains(allowed, speed.Int()):
		speed.Errorf("lustre/throughput", "a file system of type %s with %s cannot have %d MB/s for each TiB", kind, disksOf(disks), speed.Int()).
			WithHint("write one of %s", oneOf(allowed))
	}
}

// oneOf is "50, 100 or 200".
func oneOf(numbers []int) string {
	var b strings.Builder
	for i, n := range numbers {
		switch {
		case i == len(numbers)-1 && i > 0:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

func disksOf(v spec.View) string {
	if v.Text() == "HDD" {
		return "HDD"
	}
	return "SSD"
}

// lustreDisks holds the rest of ParallelCluster's FsxStorageTypeOptionsValidator.
func lustreDisks(lustre spec.View) {
	kind, ok := deployment(lustre)
	disks, cache := lustre.Key("StorageType"), lustre.Key("DriveCacheType")
	if !disks.Sound() || !ok {
		return
	}
	if disks.Text() == "HDD" && kind != "PERSISTENT_1" {
		disks.Errorf("lustre/disks", "only file systems of type PERSISTENT_1 have hard disks").
			WithHint("write DeploymentType: PERSISTENT_1, or StorageType: SSD")
	}
	if disks.Text() != "HDD" && filled(cache) {
		cache.Errorf("lustre/disks", "DriveCacheType is for StorageType: HDD").
			WithHint("remove it, or write StorageType: HDD")
	}
}

// lustreCapacity holds ParallelCluster's FsxStorageCapacityValidator.
func lustreCapacity(lustre spec.View) {
	size := lustre.Key("StorageCapacity")
	kind, ok := deployment(lustre)
	if lustre.Key("BackupId").Present() || !size.Sound() || !ok {
		return
	}
	if size.Int() == 0 {
		size.Errorf("lustre/capacity", "a new Lustre file system needs StorageCapacity").
			WithHint("add StorageCapacity: 1200, or a multiple of 2400, in GiB")
		return
	}
	speed, disks := lustre.Key("PerUnitStorageThroughput"), lustre.Key("StorageType")
	if !speed.Sound() || !disks.Sound() {
		return
	}
	steps := catalog.LustreCapacity(kind, disks.Text() == "HDD", speed.Int())
	if steps.Every == 0 || steps.Allows(size.Int()) {
		return
	}
	low, high := steps.Around(size.Int())
	d := size.Errorf("lustre/capacity", "a file system of type %s cannot have %d GiB, only %s", kind, size.Int(), steps)
	if low == 0 {
		d.WithHint("write %d", high)
		return
	}
	d.WithHint("write %d or %d", low, high)
}

// lustreBackups holds ParallelCluster's FsxBackupOptionsValidator.
func lustreBackups(lustre spec.View) {
	days := lustre.Key("AutomaticBackupRetentionDays")
	kind, ok := deployment(lustre)
	if !days.Sound() {
		return
	}
	if days.Int() == 0 {
		for _, key := range []string{"DailyAutomaticBackupStartTime", "CopyTagsToBackups"} {
			if v := lustre.Key(key); filled(v) {
				v.Errorf("lustre/backups", "%s is for automatic backups, and there are none", key).
					WithHint("add AutomaticBackupRetentionDays, or remove %s", key)
			}
		}
		return
	}
	if ok && !persistent(kind) {
		days.Errorf("lustre/backups", "only file systems of type PERSISTENT_1 and PERSISTENT_2 have automatic backups").
			WithHint("remove it, or write DeploymentType: PERSISTENT_2")
	}
	for _, key := range []string{"ImportPath", "ExportPath", "ImportedFileChunkSize", "AutoImportPolicy"} {
		if written(lustre.Key(key)) {
			days.Errorf("lustre/backups", "a file system that is linked with a bucket by %s has no backups", key).
				WithHint("remove AutomaticBackupRetentionDays: the bucket has the data")
			return
		}
	}
}

// lustreBucket holds ParallelCluster's FsxS3Validator.
func lustreBucket(lustre spec.View) {
	if written(lustre.Key("ImportPath")) {
		return
	}
	for _, key := range []string{"ImportedFileChunkSize", "ExportPath", "AutoImportPolicy"} {
		if v := lustre.Key(key); written(v) {
			v.Errorf("lustre/import", "%s needs ImportPath", key).
				WithHint("add ImportPath: s3://bucket/prefix, or remove %s", key)
		}
	}
}

// maxLinks is how many data repository associations a file system has.
const maxLinks = 8

// lustreLinks holds ParallelCluster's FsxDraValidator.
func lustreLinks(lustre spec.View) {
	links := lustre.Key("DataRepositoryAssociations")
	n := len(links.Items())
	if n == 0 {
		return
	}
	for _, key := range []string{"ImportPath", "ExportPath"} {
		if v := lustre.Key(key); written(v) {
			v.Errorf("lustre/links", "%s and DataRepositoryAssociations exclude each other", key).
				WithHint("remove %s, and link its bucket with an association", key)
		}
	}
	if n > maxLinks {
		links.Items()[maxLinks].Errorf("lustre/links", "a file system has at most %d DataRepositoryAssociations, and this has %d", maxLinks, n).
			WithHint("one association can link a whole bucket")
	}
}
