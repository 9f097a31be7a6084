// Package provider is the contract of a place where nodes run: local, aws, eks.
// It says which instances there are, starts them and ends them, and decides
// nothing. Every implementation passes the suite of providertest.
package provider

import (
	"context"
	"time"
)

// Instance is a machine that stands for one Slurm node.
type Instance struct {
	// Node is the Slurm node's name.
	Node string `json:"node"`
	// ID is the provider's own name for the machine.
	ID string `json:"id"`
	// Started is when it was started.
	Started time.Time `json:"started"`
}

// Provider starts and ends instances. Its methods may be called from many
// goroutines.
type Provider interface {
	// Observe lists the instances that live now. It fails rather than give half
	// a list.
	Observe(ctx context.Context) ([]Instance, error)
	// Launch starts an instance for each node. It does not wait for the node to
	// answer. A node that has a living instance is left as it is. The result
	// names the nodes that got none, and why; it is empty if all went well.
	Launch(ctx context.Context, nodes []string) map[string]error
	// Terminate ends the nodes' instances at once and returns when they are gone.
	// A node without an instance is no error. It may be repeated.
	Terminate(ctx context.Context, nodes []string) error
	// Ended delivers the name of a node whose instance ended without being asked
	// to. A message may be late or lost: it is only a reason to look.
	Ended() <-chan string
}
