package place

import (
	"context"
	"io/fs"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// Near is a cluster whose head node's programs and files are at hand: where the head node
// is a part of this machine, and on a cluster's own machines.
type Near interface {
	// Slurm runs Slurm's programs on the head node.
	Slurm() (slurm.Client, error)
	// Control asks the head node's controller.
	Control() (client.Client, error)
	// Events is the file of what happened to nodes.
	Events() (string, error)
	// Processes are the nodes that are processes of this machine, by name; nil where nodes
	// are machines of their own.
	Processes() (map[string]Process, error)
	// Bring makes jobs see the folder of a batch script, and says what of the user's
	// environment does not reach them.
	Bring(ctx context.Context, script string) error
	// Sight is what jobs see that are submitted from here.
	Sight() (Sight, error)
}

// Process is a node's init process, as the caller sees it.
type Process struct {
	PID     int
	Started time.Time
}

// Sight is what a cluster's nodes see at paths of this machine.
type Sight struct {
	// File is the cluster file, nil if it is unknown what nodes see.
	File *spec.Cluster
	// Stat looks at an absolute path, through links. With fs.ErrNotExist there is surely no
	// file; any other error means that it is unknown.
	Stat func(path string) (fs.FileInfo, error)
	// Path is the PATH of jobs.
	Path string
}
