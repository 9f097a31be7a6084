package cfn

// Bucket is a bucket of S3.
type Bucket struct {
	BucketName                     string `json:",omitempty"`
	BucketEncryption               BucketEncryption
	VersioningConfiguration        *Versioning `json:",omitempty"`
	LifecycleConfiguration         *Lifecycle  `json:",omitempty"`
	OwnershipControls              Ownership
	PublicAccessBlockConfiguration PublicAccess
	Tags                           []Tag
}

// BucketEncryption says how objects lie on disk.
type BucketEncryption struct{ ServerSideEncryptionConfiguration []EncryptionRule }

// EncryptionRule is a rule of BucketEncryption.
type EncryptionRule struct{ ServerSideEncryptionByDefault EncryptionDefault }

// EncryptionDefault is an algorithm: AES256.
type EncryptionDefault struct{ SSEAlgorithm string }

// Versioning keeps former versions of objects.
type Versioning struct{ Status string }

// Lifecycle deletes what is old.
type Lifecycle struct{ Rules []LifecycleRule }

// LifecycleRule is a rule of Lifecycle.
type LifecycleRule struct {
	Id, Status                     string
	NoncurrentVersionExpiration    *Noncurrent `json:",omitempty"`
	AbortIncompleteMultipartUpload *Abort      `json:",omitempty"`
}

// Noncurrent says how long old versions stay.
type Noncurrent struct{ NoncurrentDays int }

// Abort says how long unfinished uploads stay.
type Abort struct{ DaysAfterInitiation int }

// Ownership says whose the objects are.
type Ownership struct{ Rules []OwnershipRule }

// OwnershipRule is a rule of Ownership.
type OwnershipRule struct{ ObjectOwnership string }

// PublicAccess keeps the world out.
type PublicAccess struct{ BlockPublicAcls, BlockPublicPolicy, IgnorePublicAcls, RestrictPublicBuckets bool }

// BucketPolicy is the access policy of a bucket.
type BucketPolicy struct {
	Bucket         Text
	PolicyDocument Policies
}

// FileSystem is one of FSx.
type FileSystem struct {
	FileSystemType        string
	FileSystemTypeVersion string `json:",omitempty"`
	BackupId              string `json:",omitempty"`
	StorageCapacity       int    `json:",omitempty"`
	StorageType           string `json:",omitempty"`
	KmsKeyId              string `json:",omitempty"`
	SubnetIds             []Text
	SecurityGroupIds      []Text
	LustreConfiguration   *Lustre  `json:",omitempty"`
	OpenZFSConfiguration  *OpenZFS `json:",omitempty"`
	Tags                  []Tag
}

// Lustre are the settings of FSx for Lustre alone.
type Lustre struct {
	DeploymentType                string `json:",omitempty"`
	PerUnitStorageThroughput      int    `json:",omitempty"`
	DataCompressionType           string `json:",omitempty"`
	DriveCacheType                string `json:",omitempty"`
	AutoImportPolicy              string `json:",omitempty"`
	ImportPath                    string `json:",omitempty"`
	ExportPath                    string `json:",omitempty"`
	ImportedFileChunkSize         int    `json:",omitempty"`
	AutomaticBackupRetentionDays  *int   `json:",omitempty"`
	CopyTagsToBackups             *bool  `json:",omitempty"`
	DailyAutomaticBackupStartTime string `json:",omitempty"`
	WeeklyMaintenanceStartTime    string `json:",omitempty"`
}

// OpenZFS are the settings of FSx for OpenZFS alone.
type OpenZFS struct {
	DeploymentType          string
	ThroughputCapacity      int
	PreferredSubnetId       Text `json:",omitzero"`
	DiskIopsConfiguration   DiskIops
	RootVolumeConfiguration RootVolume
	// RouteTableIds are those of the clients, for a file system in two zones.
	RouteTableIds []Text   `json:",omitempty"`
	Options       []string `json:",omitempty"`
}

// DiskIops are operations a second.
type DiskIops struct {
	Mode string
	Iops int `json:",omitempty"`
}

// RootVolume is the volume at the path /fsx.
type RootVolume struct {
	DataCompressionType string
	NfsExports          []NfsExport
}

// NfsExport are the clients that may mount a volume.
type NfsExport struct{ ClientConfigurations []NfsClient }

// NfsClient is a network with its options.
type NfsClient struct {
	Clients string
	Options []string
}

// DataRepository links a directory of FSx for Lustre with a bucket.
type DataRepository struct {
	FileSystemId                Text
	FileSystemPath              string
	DataRepositoryPath          string
	BatchImportMetaDataOnCreate bool
	ImportedFileChunkSize       int              `json:",omitempty"`
	S3                          *Synchronization `json:",omitempty"`
	Tags                        []Tag
}

// Synchronization says what goes to and fro by itself.
type Synchronization struct {
	AutoImportPolicy *Events `json:",omitempty"`
	AutoExportPolicy *Events `json:",omitempty"`
}

// Events are NEW, CHANGED and DELETED.
type Events struct{ Events []string }

// ElasticFileSystem is one of EFS.
type ElasticFileSystem struct {
	Encrypted                    bool
	KmsKeyId                     string `json:",omitempty"`
	PerformanceMode              string
	ThroughputMode               string
	ProvisionedThroughputInMibps int `json:",omitempty"`
	FileSystemTags               []Tag
}

// MountTarget is where EFS answers in a zone.
type MountTarget struct {
	FileSystemId, SubnetId Text
	SecurityGroups         []Text
}

// Volume is one of EBS.
type Volume struct {
	AvailabilityZone string
	Size             int `json:",omitempty"`
	VolumeType       string
	Iops             int `json:",omitempty"`
	Throughput       int `json:",omitempty"`
	Encrypted        bool
	KmsKeyId         string `json:",omitempty"`
	SnapshotId       string `json:",omitempty"`
	Tags             []Tag
}

// VolumeAttachment gives an instance a volume.
type VolumeAttachment struct {
	InstanceId, VolumeId Text
	Device               string
}

// Type implements Properties.
func (Bucket) Type() string            { return "AWS::S3::Bucket" }
func (BucketPolicy) Type() string      { return "AWS::S3::BucketPolicy" }
func (FileSystem) Type() string        { return "AWS::FSx::FileSystem" }
func (DataRepository) Type() string    { return "AWS::FSx::DataRepositoryAssociation" }
func (ElasticFileSystem) Type() string { return "AWS::EFS::FileSystem" }
func (MountTarget) Type() string       { return "AWS::EFS::MountTarget" }
func (Volume) Type() string            { return "AWS::EC2::Volume" }
func (VolumeAttachment) Type() string  { return "AWS::EC2::VolumeAttachment" }
