// Package join is how a machine learns which node it is, and how it says that it is
// ready or has failed: the words and both ends of the HTTP between the agent of a
// node and the controller. Both prove by munge that they are root on a machine of
// the cluster: each request and each answer carries a credential that covers it, is
// good once, and ages within minutes. None of those messages is secret. Jobs' secrets,
// which their users ask for in the same way, are in credentials that munge encrypts and that
// nobody but that user can open.
package join

import (
	"encoding/json"
	"errors"
)

// Port is where the controller listens on the head node's private address, and SecretsPort
// where it gives jobs their secrets, on every place.
const (
	Port        = 6815
	SecretsPort = 6816
)

// Paths of the requests.
const (
	pathJoin   = "/v1/join"
	pathReady  = "/v1/ready"
	pathFailed = "/v1/failed"
)

// Hello is a machine that asks which node it is.
type Hello struct {
	InstanceID string `json:"instance_id"`
	// Version is muster's on the machine.
	Version string `json:"version,omitempty"`
}

// Place is what a machine is told.
type Place struct {
	Node string `json:"node"`
	// Head is the head node's private address.
	Head    string `json:"head"`
	Cluster string `json:"cluster"`
	// Revision is the site's that the cluster runs.
	Revision string `json:"revision"`
}

// Ready says that a machine's boot is done and its slurmd runs.
type Ready struct {
	InstanceID string `json:"instance_id"`
	Node       string `json:"node"`
	// Seconds is how long the boot took.
	Seconds float64 `json:"seconds"`
	// Blind is what the machine could not look at before it was ready, or goes without;
	// empty if all was there.
	Blind string `json:"blind,omitempty"`
	// BurnIn is what came of its burn-in, empty if it had none.
	BurnIn string `json:"burn_in,omitempty"`
	// Again says that the machine said so before, and asks whether Slurm knows.
	Again bool `json:"again,omitempty"`
}

// ReadyAnswer is what the head node answers a machine that says it is ready.
type ReadyAnswer struct {
	// Register says that Slurm still waits for the node: its slurmd has to register
	// again. slurmctld writes its state down seconds later, and one that was killed has
	// forgotten the last registrations.
	Register bool `json:"register,omitempty"`
}

// BurnInStep is the step of a boot in which a machine proves itself.
const BurnInStep = "burn in"

// Failure says that a machine's boot failed for good.
type Failure struct {
	InstanceID string `json:"instance_id"`
	// Node is empty where the machine never learned it.
	Node string `json:"node,omitempty"`
	// Step is the boot's step that failed, and Error why.
	Step  string `json:"step"`
	Error string `json:"error"`
	// LogTail is the end of the boot's log.
	LogTail []string `json:"log_tail,omitempty"`
	// Report is all that a burn-in found that takes the machine for unfit: half of a message at most, as burnin.ReadReport has it.
	Report json.RawMessage `json:"report,omitempty"`
}

// Errors that callers act on.
var (
	// ErrNotYet: the controller does not know the instance. It may later.
	ErrNotYet = errors.New("the controller does not know this instance yet")
	// ErrRefused: the other side did not prove its identity.
	ErrRefused = errors.New("refused")
)
