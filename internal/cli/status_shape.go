package cli

import (
	"time"

	"github.com/muster-hpc/muster/internal/aws"
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
	File     string          `json:"file,omitempty"`
	Dir      string          `json:"dir"`
	User     string          `json:"user,omitempty"`
	Since    time.Time       `json:"since,omitzero"`
	Services []serviceStatus `json:"services,omitempty"`
	Nodes    *nodesStatus    `json:"nodes,omitempty"`
	Jobs     *jobsStatus     `json:"jobs,omitempty"`
	Mounts   []mountStatus   `json:"mounts,omitempty"`
	S3       *s3Status       `json:"s3,omitempty"`
	Exports  []exportStatus  `json:"exports,omitempty"`
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

// exportStatus is a directory that is tied to a bucket.
type exportStatus struct {
	Path   string `json:"path"`
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	// Export and Import say which way files go.
	Export bool `json:"export"`
	Import bool `json:"import"`
	// Pending files wait to be exported at this moment, those that cannot be
	// exported among them; PendingBytes of them are still to be sent. Waiting are
	// the first of those that will be exported.
	Pending      int   `json:"pending"`
	PendingBytes int64 `json:"pending_bytes"`
	// PendingUnknown says that the bucket or the directory could not be looked at:
	// more may wait.
	PendingUnknown bool          `json:"pending_unknown,omitempty"`
	Waiting        []waitingFile `json:"waiting,omitempty"`
	// Blocked files cannot be exported, BlockedFiles are the first of them.
	Blocked      int           `json:"blocked"`
	BlockedFiles []waitingFile `json:"blocked_files,omitempty"`
	// Uploading files are being sent now, and SentBytes were sent since the
	// controller started.
	Uploading []uploadStatus `json:"uploading,omitempty"`
	SentBytes int64          `json:"sent_bytes"`
	// LastLook is when the last round ended, LastSuccess when the bucket last had
	// all that can be exported.
	LastLook    time.Time `json:"last_look,omitzero"`
	LastSuccess time.Time `json:"last_success,omitzero"`
	// Exported and Imported were copied since the controller started.
	Exported int    `json:"exported"`
	Imported int    `json:"imported"`
	Removed  int    `json:"removed,omitempty"` // files that went because their objects did
	Error    string `json:"error,omitempty"`
}

// waitingFile is a file that is not in the bucket as it is, and why.
type waitingFile struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes"`
	Reason    string `json:"reason"`
}

// uploadStatus is a file on its way to the bucket.
type uploadStatus struct {
	Path      string    `json:"path"`
	SizeBytes int64     `json:"size_bytes"`
	SentBytes int64     `json:"sent_bytes"`
	Since     time.Time `json:"since"`
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
