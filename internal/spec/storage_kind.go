package spec

import "strings"

// StorageKind is a StorageType of the file. What is true of one kind and not of another
// is said here, or where that kind is made, mounted or judged.
type StorageKind string

// Kinds of storage, as the file calls them.
const (
	EBS       StorageKind = "Ebs"
	EFS       StorageKind = "Efs"
	Lustre    StorageKind = "FsxLustre"
	OpenZFS   StorageKind = "FsxOpenZfs"
	ONTAP     StorageKind = "FsxOntap"
	FileCache StorageKind = "FileCache"
)

// KindOf is the kind of an entry of SharedStorage.
func KindOf(entry View) StorageKind { return StorageKind(entry.Key("StorageType").Text()) }

// Settings are the settings of an entry that go with the kind.
func (k StorageKind) Settings(entry View) View { return entry.Key(string(k) + "Settings") }

// ID is where an entry names the file system or volume that exists already.
func (k StorageKind) ID(entry View) View {
	switch k {
	case EFS, Lustre:
		return k.Settings(entry).Key("FileSystemId")
	case FileCache:
		return k.Settings(entry).Key("FileCacheId")
	default:
		return k.Settings(entry).Key("VolumeId")
	}
}

// Makeable reports whether ParallelCluster makes such storage with a cluster. What it
// does not make has to exist.
func (k StorageKind) Makeable() bool { return k == EBS || k == EFS || k == Lustre }

// Title is what people call the kind.
func (k StorageKind) Title() string {
	switch k {
	case Lustre:
		return "Lustre"
	case OpenZFS:
		return "OpenZFS"
	}
	return strings.ToUpper(string(k)) // EFS, EBS
}

// DeletionPolicy says what becomes of what the cluster made when it leaves the cluster.
type DeletionPolicy string

// Policies of deletion.
const (
	PolicyDelete   DeletionPolicy = "Delete"
	PolicyRetain   DeletionPolicy = "Retain"
	PolicySnapshot DeletionPolicy = "Snapshot"
)

// EBSSettings are those of volumes, which the head node exports.
type EBSSettings struct {
	VolumeType string
	SizeGiB    int
	// SnapshotSized says that the size is the snapshot's, and not SizeGiB.
	SnapshotSized bool
	// Iops and Throughput are 0 where the type has none to choose.
	Iops, Throughput     int
	Encrypted            bool
	KmsKeyID, SnapshotID string
	// RAIDVolumes is how many volumes are one array of RAIDLevel; 0 is one volume.
	RAIDVolumes, RAIDLevel int
}

// Count is how many volumes there are.
func (e EBSSettings) Count() int { return max(1, e.RAIDVolumes) }

// EFSSettings are those of an EFS.
type EFSSettings struct {
	Encrypted                             bool
	KmsKeyID, PerformanceMode             string
	ThroughputMode                        string
	ProvisionedMBps                       int
	EncryptionInTransit, IamAuthorization bool
	AccessPointID                         string
}

// LustreSettings are those of an FSx for Lustre.
type LustreSettings struct {
	// DeploymentType is one such as SCRATCH_2.
	DeploymentType string
	// CapacityGiB is 0 where it is that of the backup.
	CapacityGiB int
	// StorageType is HDD, SSD or empty.
	StorageType                                 string
	PerUnitThroughput                           int
	BackupID, KmsKeyID                          string
	DataCompressionType, DriveCacheType         string
	AutoImportPolicy, ImportPath, ExportPath    string
	ImportedFileChunkMiB                        int
	DailyBackupStartTime, WeeklyMaintenanceTime string
	// BackupRetentionDays and CopyTagsToBackups are nil where the file does not say.
	BackupRetentionDays *int
	CopyTagsToBackups   *bool
}

func buildStorage(v View) SharedStorage {
	s := SharedStorage{Name: v.Key("Name").Text(), MountDir: mountDir(v.Key("MountDir")), Kind: KindOf(v)}
	if v.field.child(string(s.Kind)+"Settings") == nil {
		return s // a type that there is not was reported
	}
	settings := s.Kind.Settings(v)
	if s.ExistingID = s.Kind.ID(v).Text(); s.ExistingID == "" && s.Kind.Makeable() {
		s.DeletionPolicy = DeletionPolicy(settings.Key("DeletionPolicy").Text())
	}
	switch s.Kind {
	case EBS:
		s.EBS = buildEBS(settings)
	case EFS:
		s.EFS = buildEFS(settings)
	case Lustre:
		s.Lustre = buildLustre(settings)
		s.Repositories = buildRepositories(s, settings)
	}
	return s
}

func buildEBS(v View) EBSSettings {
	e := EBSSettings{
		VolumeType: v.Key("VolumeType").Text(), SizeGiB: v.Key("Size").Int(),
		Encrypted: v.Key("Encrypted").Bool(), KmsKeyID: v.Key("KmsKeyId").Text(), SnapshotID: v.Key("SnapshotId").Text(),
	}
	e.Iops, e.Throughput = volumeSpeed(e.VolumeType, v.Key("Iops").Int(), v.Key("Throughput").Int())
	e.SnapshotSized = e.SnapshotID != "" && !v.Key("Size").Present()
	if raid := v.Key("Raid"); raid.Present() {
		e.RAIDVolumes, e.RAIDLevel = raid.Key("NumberOfVolumes").Int(), raid.Key("Type").Int()
	}
	return e
}

func buildEFS(v View) EFSSettings {
	return EFSSettings{
		Encrypted: v.Key("Encrypted").Bool(), KmsKeyID: v.Key("KmsKeyId").Text(), PerformanceMode: v.Key("PerformanceMode").Text(),
		ThroughputMode: v.Key("ThroughputMode").Text(), ProvisionedMBps: v.Key("ProvisionedThroughput").Int(),
		EncryptionInTransit: v.Key("EncryptionInTransit").Bool(), IamAuthorization: v.Key("IamAuthorization").Bool(),
		AccessPointID: v.Key("AccessPointId").Text(),
	}
}

func buildLustre(v View) LustreSettings {
	l := LustreSettings{
		DeploymentType: v.Key("DeploymentType").Text(), CapacityGiB: v.Key("StorageCapacity").Int(), StorageType: v.Key("StorageType").Text(),
		PerUnitThroughput: v.Key("PerUnitStorageThroughput").Int(), BackupID: v.Key("BackupId").Text(), KmsKeyID: v.Key("KmsKeyId").Text(),
		DataCompressionType: v.Key("DataCompressionType").Text(), DriveCacheType: v.Key("DriveCacheType").Text(),
		AutoImportPolicy: v.Key("AutoImportPolicy").Text(), ImportPath: v.Key("ImportPath").Text(), ExportPath: v.Key("ExportPath").Text(),
		ImportedFileChunkMiB:  v.Key("ImportedFileChunkSize").Int(),
		DailyBackupStartTime:  v.Key("DailyAutomaticBackupStartTime").Text(),
		WeeklyMaintenanceTime: v.Key("WeeklyMaintenanceStartTime").Text(),
	}
	if days := v.Key("AutomaticBackupRetentionDays"); days.Present() {
		l.BackupRetentionDays = new(days.Int())
	}
	if tags := v.Key("CopyTagsToBackups"); tags.Present() {
		l.CopyTagsToBackups = new(tags.Bool())
	}
	return l
}

// buildRepositories are the links of a Lustre with S3.
func buildRepositories(s SharedStorage, v View) []DataRepository {
	var all []DataRepository
	if s.Lustre.ImportPath != "" {
		all = append(all, buildImport(s))
	}
	for _, r := range v.Key("DataRepositoryAssociations").Items() {
		all = append(all, buildRepository(s, r))
	}
	return all
}
