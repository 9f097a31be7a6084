package spec

import "strings"

// StorageKind is a StorageType of the file. The differences of
// the kinds are here, and where a kind is made, mounted or judged.
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
	VolumeType string `key:"VolumeType"`
	SizeGiB    int    `key:"Size"`
	// SnapshotSized says that the size is the snapshot's, and not SizeGiB.
	SnapshotSized bool
	// Iops and Throughput are 0 where the type has none to choose.
	Iops       int    `key:"Iops"`
	Throughput int    `key:"Throughput"`
	Encrypted  bool   `key:"Encrypted"`
	KmsKeyID   string `key:"KmsKeyId"`
	SnapshotID string `key:"SnapshotId"`
	// RAIDVolumes is how many volumes are one array of RAIDLevel; 0 is one volume.
	RAIDVolumes, RAIDLevel int
}

// Count is how many volumes there are.
func (e EBSSettings) Count() int { return max(1, e.RAIDVolumes) }

// EFSSettings are those of an EFS.
type EFSSettings struct {
	Encrypted           bool   `key:"Encrypted"`
	KmsKeyID            string `key:"KmsKeyId"`
	PerformanceMode     string `key:"PerformanceMode"`
	ThroughputMode      string `key:"ThroughputMode"`
	ProvisionedMBps     int    `key:"ProvisionedThroughput"`
	EncryptionInTransit bool   `key:"EncryptionInTransit"`
	IamAuthorization    bool   `key:"IamAuthorization"`
	AccessPointID       string `key:"AccessPointId"`
}

// LustreSettings are those of an FSx for Lustre.
type LustreSettings struct {
	// DeploymentType is one such as SCRATCH_2.
	DeploymentType string `key:"DeploymentType"`
	// CapacityGiB is 0 where it is that of the backup.
	CapacityGiB int `key:"StorageCapacity"`
	// StorageType is HDD, SSD or empty.
	StorageType           string `key:"StorageType"`
	PerUnitThroughput     int    `key:"PerUnitStorageThroughput"`
	BackupID              string `key:"BackupId"`
	KmsKeyID              string `key:"KmsKeyId"`
	DataCompressionType   string `key:"DataCompressionType"`
	DriveCacheType        string `key:"DriveCacheType"`
	AutoImportPolicy      string `key:"AutoImportPolicy"`
	ImportPath            string `key:"ImportPath"`
	ExportPath            string `key:"ExportPath"`
	ImportedFileChunkMiB  int    `key:"ImportedFileChunkSize"`
	DailyBackupStartTime  string `key:"DailyAutomaticBackupStartTime"`
	WeeklyMaintenanceTime string `key:"WeeklyMaintenanceStartTime"`
	// BackupRetentionDays and CopyTagsToBackups are nil where the file does not say.
	BackupRetentionDays *int  `key:"AutomaticBackupRetentionDays"`
	CopyTagsToBackups   *bool `key:"CopyTagsToBackups"`
}

func buildStorage(v View) SharedStorage {
	s := SharedStorage{MountDir: mountDir(v.Key("MountDir"))}
	v.fill(&s)
	if v.field.child(string(s.Kind)+"Settings") == nil {
		return s // the check of the schema has reported the type
	}
	settings := s.Kind.Settings(v)
	if s.ExistingID = s.Kind.ID(v).Text(); s.ExistingID == "" && s.Kind.Makeable() {
		s.DeletionPolicy = DeletionPolicy(settings.Key("DeletionPolicy").Text())
	}
	switch s.Kind {
	case EBS:
		s.EBS.build(settings)
	case EFS:
		settings.fill(&s.EFS)
	case Lustre:
		settings.fill(&s.Lustre)
		s.Repositories = buildRepositories(s, settings)
	}
	return s
}

func (e *EBSSettings) build(v View) {
	v.fill(e)
	e.Iops, e.Throughput = volumeSpeed(e.VolumeType, e.Iops, e.Throughput)
	e.SnapshotSized = e.SnapshotID != "" && !v.Key("Size").Present()
	if raid := v.Key("Raid"); raid.Present() {
		e.RAIDVolumes, e.RAIDLevel = raid.Key("NumberOfVolumes").Int(), raid.Key("Type").Int()
	}
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
