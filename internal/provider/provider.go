// Package provider is the contract of a place where nodes run, such as this machine or AWS.
// It says which instances there are, starts them and ends them, and decides
// nothing. Every implementation passes the suite of providertest.
package provider

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// Instance is a machine that stands for one Slurm node.
type Instance struct {
	// Node is the Slurm node's name. It is empty for a machine of the cluster whose node is
	// unknown.
	Node string `json:"node"`
	// ID is the provider's own name for the machine.
	ID string `json:"id"`
	// Started is when it was started.
	Started time.Time `json:"started"`
	// Address is where the node answers. It is invalid where Slurm's
	// configuration has the address already.
	Address netip.Addr `json:"address,omitzero"`
	// Proof is what came of its burn-in, where the place knows it; nil where there was none, or it goes on.
	Proof *Proof `json:"proof,omitempty"`
	// Health are the place's warnings about the machine.
	Health []HealthEvent `json:"doubts,omitempty"`
}

// Proof is what a machine proved of itself before it became a node.
type Proof struct {
	// Unfit is why it is to take no job, empty if it may. Said is what was measured, Blind what nobody could see.
	Unfit string `json:"unfit,omitempty"`
	Said  string `json:"said,omitempty"`
	Blind string `json:"blind,omitempty"`
	// Evidence are lines about why it is unfit.
	Evidence []string `json:"evidence,omitempty"`
	// Report is all that was found on a machine that is unfit, in JSON; empty where nobody has it.
	Report []byte `json:"-"`
}

// HealthEvent is a reason not to trust an instance for long.
type HealthEvent struct {
	// Code is the place's own word, such as "instance-retirement" or "impaired".
	Code string `json:"code"`
	Text string `json:"text,omitempty"`
	// Since is when it began, NotBefore when the place will act on it at the
	// earliest: zero is now.
	Since     time.Time `json:"since,omitzero"`
	NotBefore time.Time `json:"not_before,omitzero"`
}

// Order asks for one instance for each of its nodes, which are of one compute resource.
type Order struct {
	Resource slurm.Resource
	Nodes    []string
	// Whole orders are all or nothing: where not every node can have an instance,
	// none of them gets one, and nothing is started that has to be ended again.
	Whole bool
}

// AllFail is what Launch returns where one error keeps all orders from being carried out.
func AllFail(orders []Order, err error) map[string]error {
	failed := map[string]error{}
	for _, o := range orders {
		for _, n := range o.Nodes {
			failed[n] = err
		}
	}
	return failed
}

// Provider starts and ends instances. Its methods may be called from many
// goroutines.
type Provider interface {
	// Observe lists the instances that live now. It fails rather than give half
	// a list.
	Observe(ctx context.Context) ([]Instance, error)
	// Launch starts an instance for each node of the orders. It does not wait for
	// the nodes to answer. A node that has a living instance is left as it is.
	// started, which may be nil, is told of instances as they appear: several
	// times, perhaps from several goroutines. The result names the nodes that got
	// none, and why; it is empty if all went well. An error may be a *LaunchError.
	Launch(ctx context.Context, orders []Order, started func([]Instance)) map[string]error
	// Terminate ends the nodes' instances at once and returns when they are gone, or
	// sure to go and no longer paid for. A node without an instance is no error.
	// It may be repeated. The ID of an instance may stand for its node, as of a
	// machine that no node is known for.
	Terminate(ctx context.Context, nodes []string) error
	// Ended delivers the name of a node whose instance ended without being asked
	// to. A message may be late or lost: it is only a reason to look.
	Ended() <-chan string
}

// Cause is a class of reasons for which a place refuses an instance. Classes
// differ in what has to be done.
type Cause string

// Causes of a refusal.
const (
	// Capacity: the place has no such machine now. Another compute resource may
	// have; the same one is not asked again for a while.
	Capacity Cause = "capacity"
	// Limit: the account may not have more. Only its owner can change that.
	Limit Cause = "limit"
	// Throttled: asked too often. The same call succeeds later.
	Throttled Cause = "throttled"
	// Configuration: the call can never succeed as it is.
	Configuration Cause = "configuration"
	// Permission: the caller has no right to it, or its credentials have expired.
	Permission Cause = "permission"
	// Unknown is everything else, lost answers among it.
	Unknown Cause = "unknown"
)

// ErrIncomplete is why nodes of a whole order got no instance that could have had
// one: others of the order could not.
var ErrIncomplete = errors.New("it goes with others of its job")

// LaunchError says why a node has no instance.
type LaunchError struct {
	Cause Cause
	// Code is the place's own word, such as InsufficientInstanceCapacity.
	Code    string
	Message string
}

// Error begins with the code, in the form that ParallelCluster's users know from
// Slurm's reasons.
func (e *LaunchError) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return "(Code:" + e.Code + ") " + e.Message
}
