package spec

import "github.com/muster-hpc/muster/internal/diag"

// Workload is muster.yaml, the optional file beside the cluster file: what runs
// on the cluster and what it needs, as far as it is no part of ParallelCluster's
// schema.
type Workload struct {
	// File is the name under which the file was read, empty if there is none.
	File   string
	Run    Run     `key:"Run"`
	Models []Model `key:"Models"`
	// Directories are made on shared storage when the cluster comes up, in
	// order, parents included. "{model}" in Path stands for each model's name.
	Directories []Directory
	// FileSystems are made with the cluster, beside the cluster file's.
	FileSystems []FileSystem `key:"FileSystems"`
	// Buckets are S3 buckets that are made if they are not there.
	Buckets []string `key:"Buckets"`
	// Exports are directories whose files go to buckets.
	Exports []Export `key:"Exports"`
	Grafana Grafana
	// BurnIn is what new nodes prove before their first job, nil for nothing: see BurnInOf.
	BurnIn *BurnIn `key:"BurnIn"`
	// Accounts and QOS are what slurmdbd is to know. Enforce are what jobs are held to, nil
	// where the file does not say it: see Enforced.
	Accounts []Account `key:"Accounts"`
	QOS      []QOS     `key:"QOS"`
	Enforce  []string  `key:"Enforce"`
}

// Run is how long the cluster trains, and what is reckoned with when a node fails.
type Run struct {
	// Hours is the length of the run; 0 is not said.
	Hours float64 `key:"Hours"`
	// RestartMinutes pass from a failure until the job computes again.
	RestartMinutes float64 `key:"RestartMinutes"`
	// ReplacementHours pass until there is another node for one that failed.
	ReplacementHours float64 `key:"ReplacementHours"`
}

// Model is a model that is trained on the cluster.
type Model struct {
	Name string `key:"Name"`
	// Queue is where it trains, empty if the file does not say.
	Queue string `key:"Queue"`
	// Nodes is the number of whole nodes that it trains on, GPUs that of a part
	// of one node. At most one of them is not 0.
	Nodes int `key:"Nodes"`
	GPUs  int `key:"GPUs"`
	// Parameters is the model's size; 0 is not said.
	Parameters float64
	// Optimizer and Precision say what a checkpoint holds for each parameter,
	// unless BytesPerParameter, which is 0 if not given, says it.
	Optimizer         string  `key:"Optimizer"`
	Precision         string  `key:"Precision"`
	BytesPerParameter float64 `key:"BytesPerParameter"`
	// Checkpoints is where they are written, empty if not said. KeepCheckpoints
	// is how many of them stay.
	Checkpoints     string
	KeepCheckpoints int `key:"KeepCheckpoints"`
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
	Name string `key:"Name"`
	// MountDir is absolute and clean.
	MountDir       string
	Kind           StorageKind `key:"StorageType"`
	DeploymentType string      `key:"DeploymentType"`
	// CapacityGiB, ThroughputMBps and Iops are bought; Iops 0 is what comes
	// with the capacity.
	CapacityGiB    int `key:"StorageCapacity"`
	ThroughputMBps int `key:"ThroughputCapacity"`
	Iops           int `key:"Iops"`
	// Compression is NONE, ZSTD or LZ4.
	Compression string `key:"DataCompressionType"`
	// DeletionPolicy is Delete or Retain.
	DeletionPolicy DeletionPolicy `key:"DeletionPolicy"`
}

// Grafana is the cluster's dashboards.
type Grafana struct {
	Enabled bool `key:"Enabled"`
	// AllowedIps is the network from which they can be seen.
	AllowedIps string `key:"AllowedIps"`
}
