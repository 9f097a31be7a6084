package spec

// Cluster is a checked AWS ParallelCluster v3 cluster file: the part of the
// schema that muster acts on, with ParallelCluster's defaults filled in. Keys
// that muster does not act on are checked for spelling and type, and are not
// repeated here. Fields with a tag are read from the key that it names (see View.fill),
// the others by the function that builds their struct.
type Cluster struct {
	// File is the name under which the file was read.
	File string
	// Region is the AWS region, empty if the file does not say.
	Region string `key:"Region"`
	// OS is Image.Os, for example "alinux2023".
	OS            string `key:"Image.Os"`
	HeadNode      HeadNode
	LoginPools    []LoginPool
	Scheduling    Scheduling `key:"Scheduling"`
	SharedStorage []SharedStorage
	Monitoring    Monitoring `key:"Monitoring"`
	Timeouts      Timeouts   `key:"DevSettings.Timeouts"`
	// Tags are for all that is made in AWS.
	Tags []Tag `key:"Tags"`
	// CustomS3Bucket holds the cluster's files; empty for a bucket of its own.
	CustomS3Bucket string `key:"CustomS3Bucket"`
	// AdditionalResources is the URL of a template of more that is made.
	AdditionalResources string `key:"AdditionalResources"`
	// PermissionsBoundary is for roles that are made; ResourcePrefix begins their path
	// and their names.
	PermissionsBoundary string `key:"Iam.PermissionsBoundary"`
	ResourcePrefix      string `key:"Iam.ResourcePrefix"`
	// OldMetadata says that machines have the metadata service of IMDSv1, too.
	OldMetadata bool
	// LocalHomes says that each machine has homes of its own.
	LocalHomes bool
	// NoSudo says that the image's default user may not use sudo.
	NoSudo bool `key:"DeploymentSettings.DisableSudoAccessForDefaultUser"`
	// DirectorySecretARN has the password of the DirectoryService.
	DirectorySecretARN string `key:"DirectoryService.PasswordSecretArn"`
	// EFAInterfaceType is empty for ParallelCluster's choice.
	EFAInterfaceType string `key:"DevSettings.EfaInterfaceType"`
}

// HeadNode is the machine that runs the controllers.
type HeadNode struct {
	InstanceType string `key:"InstanceType"`
	// ScratchDir is where the instance's own disks are mounted, "/scratch" by
	// default.
	ScratchDir string
	RootVolume RootVolume `key:"LocalStorage.RootVolume"`
	// KeepRoot says that the root volume outlives the head node.
	KeepRoot bool
	// DisableSMT is one thread for each core.
	DisableSMT bool `key:"DisableSimultaneousMultithreading"`
	// CustomAMI is empty for ParallelCluster's own image.
	CustomAMI  string     `key:"Image.CustomAmi"`
	Networking Networking `key:"Networking"`
	// ElasticIP is the public address, "true" for a new one; empty or "false" is none.
	ElasticIP string `key:"Networking.ElasticIp"`
	SSH       SSH    `key:"Ssh"`
	DCV       DCV    `key:"Dcv"`
	IAM       IAM    `key:"Iam"`
	// SharedEFS says that what the head node shares is on an EFS that is made, and
	// SharedEFSEncrypted that it is encrypted.
	SharedEFS          bool
	SharedEFSEncrypted bool `key:"SharedStorageEfsSettings.Encrypted"`
	// SecuredMetadata keeps the users of the head node from its rights.
	SecuredMetadata bool          `key:"Imds.Secured"`
	CustomActions   CustomActions `key:"CustomActions"`
}

// LoginPool are machines on which people work.
type LoginPool struct {
	Name         string `key:"Name"`
	InstanceType string `key:"InstanceType"`
	Count        int    `key:"Count"`
	// GraceMinutes are for people to finish before a machine ends.
	GraceMinutes int    `key:"GracetimePeriod"`
	CustomAMI    string `key:"Image.CustomAmi"`
	// RootVolume is ParallelCluster's choice: no file has one.
	RootVolume RootVolume
	Networking Networking `key:"Networking"`
	// SSH is the head node's where the pool says nothing.
	SSH           SSH           `key:"Ssh"`
	DCV           DCV           `key:"Dcv"`
	IAM           IAM           `key:"Iam"`
	CustomActions CustomActions `key:"CustomActions"`
}

// Monitoring is how the cluster is watched in CloudWatch.
type Monitoring struct {
	Logs Logs `key:"Logs.CloudWatch"`
	// Detailed says that EC2 counts each minute.
	Detailed  bool `key:"DetailedMonitoring"`
	Dashboard bool `key:"Dashboards.CloudWatch.Enabled"`
	Alarms    bool `key:"Alarms.Enabled"`
	// LogRotation keeps the logs of a machine from filling its disk.
	LogRotation bool `key:"Logs.Rotation.Enabled"`
}

// Logs are the cluster's in CloudWatch.
type Logs struct {
	Enabled        bool           `key:"Enabled"`
	RetentionDays  int            `key:"RetentionInDays"`
	DeletionPolicy DeletionPolicy `key:"DeletionPolicy"`
	// Kept says that the file itself wants them to outlive the cluster.
	Kept bool
}

// Scheduling is the file's Scheduling section with Scheduler: slurm.
type Scheduling struct {
	// ScalingStrategy is all-or-nothing, greedy-all-or-nothing or best-effort.
	ScalingStrategy string        `key:"ScalingStrategy"`
	Slurm           SlurmSettings `key:"SlurmSettings"`
	Queues          []Queue
}

// Queue is a Slurm partition.
type Queue struct {
	Name string `key:"Name"`
	// CapacityType is ONDEMAND, SPOT or CAPACITY_BLOCK.
	CapacityType     string `key:"CapacityType"`
	JobExclusive     bool   `key:"JobExclusiveAllocation"`
	ComputeResources []ComputeResource
	// AllocationStrategy is how EC2 chooses among several instance types.
	AllocationStrategy string `key:"AllocationStrategy"`
	// ScratchDir is where a node's own disks are mounted, "/scratch" by default.
	ScratchDir string
	RootVolume RootVolume `key:"ComputeSettings.LocalStorage.RootVolume"`
	// CustomAMI is empty for ParallelCluster's own image.
	CustomAMI  string     `key:"Image.CustomAmi"`
	Networking Networking `key:"Networking"`
	// PublicIP is nil where the subnet says whether nodes have public addresses.
	PublicIP *bool `key:"Networking.AssignPublicIp"`
	IAM      IAM   `key:"Iam"`
	// PlacementGroup and Reservation are for compute resources that have none of their own.
	PlacementGroup PlacementGroup
	Reservation    Reservation
	// CheckGPUs is for compute resources that do not say it themselves.
	CheckGPUs     bool          `key:"HealthChecks.Gpu.Enabled"`
	CustomActions CustomActions `key:"CustomActions"`
	Custom        []Setting
	// Tags are for its nodes.
	Tags []Tag `key:"Tags"`
}

// ComputeResource is a group of equal nodes of a queue. Nodes 1..MinCount are
// static, the rest of MaxCount is dynamic.
type ComputeResource struct {
	Name string `key:"Name"`
	// InstanceTypes has one entry for InstanceType, or those of Instances.
	InstanceTypes []string
	// Several says that the file has Instances: EC2 chooses the type of each node.
	Several  bool
	MinCount int `key:"MinCount"`
	MaxCount int `key:"MaxCount"`
	// StaticPriority and DynamicPriority are Slurm's weights of its nodes: low numbers
	// are taken first.
	StaticPriority  int `key:"StaticNodePriority"`
	DynamicPriority int `key:"DynamicNodePriority"`
	// DisableSMT offers one CPU for each core instead of each thread.
	DisableSMT bool `key:"DisableSimultaneousMultithreading"`
	EFA        bool `key:"Efa.Enabled"`
	// SchedulableMemoryMiB overrides what a node offers to Slurm; 0 is 95 % of
	// the instance type's memory.
	SchedulableMemoryMiB int `key:"SchedulableMemory"`
	// SpotPrice is the most that an hour may cost, empty for the on-demand price.
	SpotPrice string
	// PlacementGroup and Reservation are its own, or the queue's.
	PlacementGroup PlacementGroup
	Reservation    Reservation
	LaunchTemplate LaunchTemplate `key:"LaunchTemplateOverrides"`
	// CheckGPUs looks at a node's GPUs before each job.
	CheckGPUs bool
	Custom    []Setting
	// Tags are for its nodes.
	Tags []Tag `key:"Tags"`
}

// Tag is a tag of AWS resources.
type Tag struct {
	Key   string `key:"Key"`
	Value string `key:"Value"`
}

// SharedStorage is a file system that every node sees at MountDir.
type SharedStorage struct {
	Name string `key:"Name"`
	// MountDir is absolute and clean.
	MountDir string
	Kind     StorageKind `key:"StorageType"`
	// ExistingID is the ID of a file system or volume that exists already. It is empty
	// for one that is made with the cluster.
	ExistingID string
	// DeletionPolicy is empty for what exists already.
	DeletionPolicy DeletionPolicy
	// EBS, EFS and Lustre are the settings of storage of that kind.
	EBS    EBSSettings
	EFS    EFSSettings
	Lustre LustreSettings
	// Repositories are the S3 links of a Lustre file system.
	Repositories []DataRepository
}

// DataRepository links a directory of a file system with a prefix of a bucket.
type DataRepository struct {
	Name string `key:"Name"`
	// Dir is the absolute path that is linked, MountDir included.
	Dir    string
	Bucket string
	// Prefix has no leading slash, and ends in one unless it is empty.
	Prefix string
	// AutoExport and AutoImport hold NEW, CHANGED and DELETED as the file has them.
	AutoExport []string `key:"AutoExportPolicy"`
	AutoImport []string `key:"AutoImportPolicy"`
	// ImportAtFirst is whether what the bucket has when the link is made comes, too.
	ImportAtFirst bool `key:"BatchImportMetaDataOnCreate"`
	// Association is nil for the link of ImportPath, which is a part of its file system.
	Association *Association
}

// Association is a link with S3 as the file has it.
type Association struct {
	Path, URI string
	ChunkMiB  int
}
