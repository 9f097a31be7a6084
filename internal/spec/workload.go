package spec

import "github.com/muster-hpc/muster/internal/diag"

// Workload is muster.yaml, the optional file beside the cluster file: what runs
// on the cluster and what it needs, as far as it is no part of ParallelCluster's
// schema.
type Workload struct {
	// File is the name under which the file was read, empty if there is none.
	File   string
	Run    Run
	Models []Model
	// Directories are made on shared storage when the cluster comes up, in
	// order, parents included. "{model}" in Path stands for each model's name.
	Directories []Directory
	// FileSystems are made with the cluster, beside the cluster file's.
	FileSystems []FileSystem
	// Buckets are S3 buckets that are made if they are not there.
	Buckets []string
	Grafana Grafana
}

// Run is how long the cluster trains, and what is reckoned with when a node fails.
type Run struct {
	// Hours is the length of the run; 0 is not said.
	Hours float64
	// RestartMinutes pass from a failure until the job computes again.
	RestartMinutes float64
	// ReplacementHours pass until there is another node for one that failed.
	ReplacementHours float64
}

// Model is a model that is trained on the cluster.
type Model struct {
	Name string
	// Queue is where it trains, empty if the file does not say.
	Queue string
	// Nodes is the number of whole nodes that it trains on, GPUs that of a part
	// of one node. At most one of them is not 0.
	Nodes, GPUs int
	// Parameters is the model's size; 0 is not said.
	Parameters float64
	// Optimizer and Precision say what a checkpoint holds for each parameter,
	// unless BytesPerParameter, which is 0 if not given, says it.
	Optimizer, Precision string
	BytesPerParameter    float64
	// Checkpoints is where they are written, empty if not said. KeepCheckpoints
	// is how many of them stay.
	Checkpoints     string
	KeepCheckpoints int
	// Place is where the file says how much of the cluster the model takes.
	Place diag.Place
}

// Directory is a directory of shared storage.
type Directory struct {
	// Path is absolute, clean, and under a mount of the cluster.
	Path string
	// Mode are the permission bits, 0775 by default.
	Mode uint32
}

// FileSystem is an FSx for OpenZFS file system that is made with the cluster;
// the cluster file can only name one that exists.
type FileSystem struct {
	Name string
	// MountDir is absolute and clean.
	MountDir       string
	Kind           StorageKind
	DeploymentType string
	// CapacityGiB, ThroughputMBps and Iops are bought; Iops 0 is what comes
	// with the capacity.
	CapacityGiB, ThroughputMBps, Iops int
	// Compression is NONE, ZSTD or LZ4.
	Compression string
	// DeletionPolicy is Delete or Retain.
	DeletionPolicy DeletionPolicy
}

// Grafana is the cluster's dashboards.
type Grafana struct {
	Enabled bool
	// AllowedIps is the network from which they can be seen.
	AllowedIps string
}
