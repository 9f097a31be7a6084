package spec

import "github.com/muster-hpc/muster/internal/diag"

// Cluster is a checked AWS ParallelCluster v3 cluster file: the part of the
// schema that muster acts on, with ParallelCluster's defaults filled in. Keys
// that muster does not act on are checked for spelling and type, and are not
// repeated here.
type Cluster struct {
	// File is the name under which the file was read.
	File string
	// Region is the AWS region, empty if the file does not say.
	Region string
	// OS is Image.Os, for example "alinux2023".
	OS            string
	HeadNode      HeadNode
	Scheduling    Scheduling
	SharedStorage []SharedStorage
	// CustomActions says that the file has scripts for nodes or the head node,
	// LoginNodes that it has pools of login nodes.
	CustomActions, LoginNodes bool
	// Tags are for all that is made in AWS.
	Tags []Tag
}

// HeadNode is the machine that runs the controllers.
type HeadNode struct {
	InstanceType string
	// ScratchDir is where the instance's own disks are mounted, "/scratch" by
	// default.
	ScratchDir string
}

// Scheduling is the file's Scheduling section with Scheduler: slurm.
type Scheduling struct {
	// ScalingStrategy is all-or-nothing, greedy-all-or-nothing or best-effort.
	ScalingStrategy string
	Slurm           SlurmSettings
	Queues          []Queue
}

// SlurmSettings is Scheduling.SlurmSettings.
type SlurmSettings struct {
	// ScaledownIdleMinutes is how long a dynamic node may be idle before it is
	// taken away; -1 is never. ParallelCluster's default is 10.
	ScaledownIdleMinutes  int
	MemoryBasedScheduling bool
	// Custom are lines for slurm.conf in the file's order.
	Custom []Setting
}

// Setting is one key of a Slurm configuration file, spelt as in the cluster file.
type Setting struct {
	Key, Value string
	// Place is where the key stands in the cluster file.
	Place diag.Place
}

// Queue is a Slurm partition.
type Queue struct {
	Name string
	// CapacityType is ONDEMAND, SPOT or CAPACITY_BLOCK.
	CapacityType     string
	JobExclusive     bool
	ComputeResources []ComputeResource
	// AllocationStrategy is how EC2 chooses among several instance types.
	AllocationStrategy string
	// ScratchDir is where a node's own disks are mounted, "/scratch" by default.
	ScratchDir string
	// RootGiB is the size of a node's root volume, 0 for the image's.
	RootGiB int
	// Reservation is the capacity reservation, block or resource group that nodes
	// come from, unless the compute resource has its own.
	Reservation string
	Custom      []Setting
	// Tags are for its nodes.
	Tags []Tag
}

// ComputeResource is a group of equal nodes of a queue. Nodes 1..MinCount are
// static, the rest of MaxCount is dynamic.
type ComputeResource struct {
	Name string
	// InstanceTypes has one entry for InstanceType, or those of Instances.
	InstanceTypes []string
	MinCount      int
	MaxCount      int
	// StaticPriority and DynamicPriority are Slurm's weights of its nodes: low numbers
	// are taken first.
	StaticPriority, DynamicPriority int
	// DisableSMT offers one CPU for each core instead of each thread.
	DisableSMT bool
	EFA        bool
	// SchedulableMemoryMiB overrides what a node offers to Slurm; 0 is 95 % of
	// the instance type's memory.
	SchedulableMemoryMiB int
	// SpotPrice is the most that an hour may cost, empty for the on-demand price.
	SpotPrice   string
	Reservation string
	Custom      []Setting
	// Tags are for its nodes.
	Tags []Tag
}

// Tag is a tag of AWS resources.
type Tag struct{ Key, Value string }

// SharedStorage is a file system that every node sees at MountDir.
type SharedStorage struct {
	Name string
	// MountDir is absolute and clean.
	MountDir string
	Kind     StorageKind
	// ExistingID is that of what exists already. It is empty for what is made with the
	// cluster.
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
	Name string
	// Dir is the absolute path that is linked, MountDir included.
	Dir    string
	Bucket string
	// Prefix has no leading slash, and ends in one unless it is empty.
	Prefix string
	// AutoExport and AutoImport hold NEW, CHANGED and DELETED as the file has them.
	AutoExport []string
	AutoImport []string
	// ImportAtFirst is whether what the bucket has when the link is made comes, too.
	ImportAtFirst bool
	// Association is nil for the link of ImportPath, which is a part of its file system.
	Association *Association
}

// Association is a link with S3 as the file has it.
type Association struct {
	Path, URI string
	ChunkMiB  int
}
