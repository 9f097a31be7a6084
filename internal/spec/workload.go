package spec

// Workload is muster.yaml, the optional file beside the cluster file: what runs
// on the cluster and is no part of ParallelCluster's schema.
type Workload struct {
	// File is the name under which the file was read, empty if there is none.
	File   string
	Models []Model
	// Directories are made on shared storage when the cluster comes up, in
	// order, parents included. "{model}" in Path stands for each model's name.
	Directories []Directory
}

// Model is a model that is trained on the cluster.
type Model struct {
	Name string
	// Nodes is the number of nodes that it trains on; 0 is not said.
	Nodes int
}

// Directory is a directory of shared storage.
type Directory struct {
	// Path is absolute, clean, and under one of the cluster file's mounts.
	Path string
	// Mode are the permission bits, 0775 by default.
	Mode uint32
}
