// Package manifest has the words with which the user's machine and the machines of a
// cluster on AWS speak about it: what its cluster file does not say, because only
// AWS knows it. `up` writes them into the cluster's bucket, and the machines read
// them there.
package manifest

import (
	"time"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// Site is what a cluster on AWS was made of: clusters/NAME/site.json in its bucket.
type Site struct {
	Cluster string `json:"cluster"`
	// Revision names the cluster file, muster.yaml and this site together: a digest.
	Revision  string `json:"revision"`
	Region    string `json:"region"`
	Partition string `json:"partition"` // aws, aws-cn, aws-us-gov
	Account   string `json:"account"`
	// Version is the muster that wrote this.
	Version string    `json:"version"`
	Written time.Time `json:"written,omitzero"`
	Bucket  string    `json:"bucket"`
	// Programs are muster's builds by architecture, as the machines are to run them. A
	// head node that runs another one takes it up, and machines that start later have it.
	Programs map[string]Program `json:"programs,omitempty"`
	// LogGroup is CloudWatch's, empty where the file switches logs off.
	LogGroup string `json:"log_group,omitempty"`
	// Subnets are each queue's, in the file's order; the head node's has the key "".
	Subnets map[string][]string `json:"subnets"`
	// Networks are those of all these subnets and of the login nodes': only they mount
	// from the head node.
	Networks []string  `json:"networks,omitempty"`
	Storage  []Storage `json:"storage,omitempty"`
	// Types are the cluster file's instance types as a newer list than the built-in one
	// has them.
	Types *catalog.Newer `json:"types,omitempty"`
}

// Use has the program know the site's instance types.
func (s Site) Use() {
	if s.Types != nil {
		catalog.Beside(func() *catalog.Newer { return s.Types })
	}
}

// Storage is a file system or volume that machines mount.
type Storage struct {
	Name     string           `json:"name"`
	Type     spec.StorageKind `json:"type"`
	MountDir string           `json:"mount_dir"`
	// IDs has one entry, or more for volumes that make up one array.
	IDs []string `json:"ids"`
	// Host is the DNS name to mount from, Export the path of it that is mounted: Lustre's
	// mount name, the path of an OpenZFS or ONTAP volume, / of EFS.
	Host   string `json:"host,omitempty"`
	Export string `json:"export,omitempty"`
	// Made says that it was made with the cluster.
	Made bool `json:"made,omitempty"`
	// EFS is how an EFS is mounted. RAID is the level of several volumes' array. A
	// manifest of an older muster has neither.
	EFS  *EFSMount `json:"efs,omitempty"`
	RAID string    `json:"raid,omitempty"`
}

// EFSMount is what an EFS asks of its mounts.
type EFSMount struct {
	EncryptionInTransit bool   `json:"encryption_in_transit,omitempty"`
	IAM                 bool   `json:"iam,omitempty"`
	AccessPoint         string `json:"access_point,omitempty"`
}

// Program is a build of muster in the cluster's bucket.
type Program struct {
	Key    string `json:"key"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// Keys of a cluster's objects in its bucket.
func key(cluster, name string) string { return "clusters/" + cluster + "/" + name }

// SiteKey, FileKey and WorkloadKey are where `up` puts the site, the cluster file
// and muster.yaml. HeadKey is where the head node says how it is: a HeadStatus.
// FactsKey is what `up` found out when it made the cluster and keeps to when it
// changes it. FleetKey is what the fleet is to be: a Fleet, or absent. TrialKey is the
// last test job that was asked for: a Trial.
// SharedPrefix is what the head node leaves there for the other machines. Nothing in
// the bucket is secret: a job has the rights of its node, and can read what that can.
func SiteKey(cluster string) string      { return key(cluster, "site.json") }
func FileKey(cluster string) string      { return key(cluster, "cluster.yaml") }
func WorkloadKey(cluster string) string  { return key(cluster, "muster.yaml") }
func HeadKey(cluster string) string      { return key(cluster, "head.json") }
func FactsKey(cluster string) string     { return key(cluster, "facts.json") }
func FleetKey(cluster string) string     { return key(cluster, "fleet.json") }
func TrialKey(cluster string) string     { return key(cluster, "trial.json") }
func SharedPrefix(cluster string) string { return key(cluster, "shared/") }

// Fleet is a wish for the fleet from outside the cluster. The head node obeys and says so
// in HeadStatus.Cluster.Fleet.
type Fleet struct {
	// Want is running or stopped.
	Want string `json:"want"`
	// Gently says that jobs that run may end before their nodes do.
	Gently bool `json:"gently,omitempty"`
	// Why is for the log, At when it was asked.
	Why string    `json:"why,omitempty"`
	At  time.Time `json:"at"`
}

// Trial is a wish for a test job from outside the cluster. The head node runs it once and
// answers in HeadStatus.Trial.
type Trial struct {
	// ID is the trial's own: another one is another job.
	ID string `json:"id"`
	// Queue and Constraint say where it runs, Nodes on how many.
	Queue      string `json:"queue"`
	Constraint string `json:"constraint,omitempty"`
	Nodes      int    `json:"nodes"`
	// LimitSeconds is how long it may take with the start of its nodes.
	LimitSeconds int `json:"limit_seconds"`
}

// TrialResult is how a trial ended.
type TrialResult struct {
	ID string `json:"id"`
	// Nodes are those on which it ran.
	Nodes []string `json:"nodes,omitempty"`
	// Error is why it failed, Busy that it did not start because other jobs have the
	// nodes.
	Error string `json:"error,omitempty"`
	Busy  bool   `json:"busy,omitempty"`
	// Seconds are from the question to the end.
	Seconds float64 `json:"seconds"`
}

// ProgramKey is where a build of muster lies.
func ProgramKey(sha256, arch string) string { return "programs/" + sha256 + "/muster-linux-" + arch }

// HeadStatus is what the head node says of itself: while it boots after every
// step, later every few seconds. A reader looks at At: an old one is no
// news.
type HeadStatus struct {
	At time.Time `json:"at"`
	// InstanceID is the head node's.
	InstanceID string `json:"instance_id"`
	// Revision is the Site's that it runs, empty while it boots for the first time.
	Revision string `json:"revision,omitempty"`
	Version  string `json:"version"`
	// Program is the SHA-256 of the muster that says so.
	Program string `json:"program,omitempty"`
	Phase   Phase  `json:"phase"`
	// User is the user that people log in as, HostKeys are the machine's own public keys, as
	// "TYPE KEY": by them, SSH knows that it is the right machine.
	User     string   `json:"user,omitempty"`
	HostKeys []string `json:"host_keys,omitempty"`
	// Steps are the boot's, done or in progress.
	Steps []Step `json:"steps,omitempty"`
	// Error is why Phase is failed, LogTail the end of the log.
	Error   string   `json:"error,omitempty"`
	LogTail []string `json:"log_tail,omitempty"`
	// AccountsError is why Slurm's accounts are not as muster.yaml says, empty if they are.
	AccountsError string `json:"accounts_error,omitempty"`
	// Cluster is there once Slurm answers: what `muster status` shows.
	Cluster *ClusterStatus `json:"cluster,omitempty"`
	// Trial is the last test job that was asked for, once it has ended.
	Trial *TrialResult `json:"trial,omitempty"`
}

// Phase is how far a head node is.
type Phase string

// Phases of a head node.
const (
	Booting Phase = "booting"
	Ready   Phase = "ready"
	Failed  Phase = "failed"
)

// SetAccounts is the step of a boot, and of an update, that changes Slurm's accounts.
const SetAccounts = "set accounts"

// Step is a step of a boot.
type Step struct {
	Name    string  `json:"name"`
	Detail  string  `json:"detail,omitempty"`
	Seconds float64 `json:"seconds"`
	Done    bool    `json:"done"`
	// Revision is the Site's for which it was done, empty until that has been read.
	Revision string `json:"revision,omitempty"`
}

// ClusterStatus is a look at Slurm and the fleet.
type ClusterStatus struct {
	// Fleet is running, stopped or protected.
	Fleet string `json:"fleet"`
	Why   string `json:"why,omitempty"`
	// Services are the head node's, Ready those that answer.
	Services []Service `json:"services"`
	// Nodes count nodes by Slurm's state, Jobs jobs by theirs.
	Nodes map[string]int `json:"nodes"`
	Jobs  map[string]int `json:"jobs"`
	// Static are the nodes that are always on.
	Static *StaticNodes `json:"static,omitempty"`
	// Look are things that need a look, in words.
	Look []string `json:"look,omitempty"`
	// Exports are those that muster.yaml asks for.
	Exports []Exported `json:"exports,omitempty"`
}

// Exported is how far an export is.
type Exported struct {
	Path   string `json:"path"`
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	// Pending is how many files wait, the Blocked ones among them, which cannot be exported.
	// Unknown says that it may be more.
	Pending      int   `json:"pending"`
	PendingBytes int64 `json:"pending_bytes"`
	Blocked      int   `json:"blocked,omitempty"`
	Unknown      bool  `json:"unknown,omitempty"`
	// First is a file that cannot be exported, and why.
	First string `json:"first,omitempty"`
	// WaitsSince is when the oldest of the files changed that could be sent and are not.
	WaitsSince time.Time `json:"waits_since,omitzero"`
	// Looked is when the directory and the bucket were looked at last.
	Looked   time.Time `json:"looked,omitzero"`
	Exported int       `json:"exported"`
	Error    string    `json:"error,omitempty"`
}

// StaticNodes are a look at the nodes that are always on.
type StaticNodes struct {
	// Want is how many there are in Slurm's configuration, Ready how many of them answer.
	Want  int `json:"want"`
	Ready int `json:"ready"`
	// Later are those that start later: their capacity block has not begun.
	Later []string `json:"later,omitempty"`
	// Missing say of the others what they are and why, those alike in one line.
	Missing []string `json:"missing,omitempty"`
}

// Service is a daemon of the head node.
type Service struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
}
