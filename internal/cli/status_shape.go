package cli

import (
	"time"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/controller/client"
)

// statusAnswer is what `muster status -o json` prints.
type statusAnswer struct {
	Clusters []clusterStatus `json:"clusters"`
}

// clusterStatus is one cluster. What could not be looked at is absent, and the
// reason is in Blind.
type clusterStatus struct {
	Name string `json:"name"`
	// Place is local or aws.
	Place string `json:"place"`
	// State is up, starting or stopped; on AWS also creating, changing, failed,
	// removing, half made, gone or unknown.
	State string `json:"state"`
	// Healthy says that Look and Blind are empty.
	Healthy bool `json:"healthy"`
	// File is the cluster file, User who made the cluster, Since when its head
	// node was started.
	File     string                `json:"file,omitempty"`
	Dir      string                `json:"dir"`
	User     string                `json:"user,omitempty"`
	Since    time.Time             `json:"since,omitzero"`
	Services []serviceStatus       `json:"services,omitempty"`
	Nodes    *nodesStatus          `json:"nodes,omitempty"`
	Jobs     *jobsStatus           `json:"jobs,omitempty"`
	Mounts   []mountStatus         `json:"mounts,omitempty"`
	S3       *s3Status             `json:"s3,omitempty"`
	Exports  []client.ExportStatus `json:"exports,omitempty"`
	// AWS is there for a cluster on AWS.
	AWS *aws.Status `json:"aws,omitempty"`
	// Look says what needs a look, Blind what did not answer.
	Look  []string `json:"look,omitempty"`
	Blind []string `json:"blind,omitempty"`
}

// nodesStatus are all nodes of a cluster by what they do.
type nodesStatus struct {
	Total  int          `json:"total"`
	States []nodesState `json:"states"`
}

// nodesState are the nodes in one state.
type nodesState struct {
	State string `json:"state"`
	Count int    `json:"count"`
	// Nodes is a host list.
	Nodes string `json:"nodes"`
}

// jobsStatus counts the jobs that have not ended.
type jobsStatus struct {
	Running    int `json:"running"`
	Starting   int `json:"starting"`
	Completing int `json:"completing"`
	Suspended  int `json:"suspended"`
	Pending    int `json:"pending"`
}

// mountStatus is a file system that every node sees.
type mountStatus struct {
	Path string `json:"path"`
	// Dir is where its files lie on this machine.
	Dir       string `json:"dir"`
	UsedBytes int64  `json:"used_bytes"`
	// AtLeast says that there was no time to count all files.
	AtLeast   bool  `json:"at_least,omitempty"`
	FreeBytes int64 `json:"free_bytes"`
}

// s3Status is the cluster's own S3 server, as jobs see it.
type s3Status struct {
	Endpoint string   `json:"endpoint"`
	Buckets  []string `json:"buckets"`
}

// serviceStatus is a service of a machine of the cluster.
type serviceStatus struct {
	Name string `json:"name"`
	// Phase is waiting, starting or ready, and Since when it is that.
	Phase    string    `json:"phase"`
	PID      int       `json:"pid,omitempty"`
	Since    time.Time `json:"since"`
	Restarts int       `json:"restarts"`
	// Last says how the last run ended.
	Last string `json:"last,omitempty"`
}

const serviceReady = "ready"
