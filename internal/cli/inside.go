//go:build linux

package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/aws/headnode"
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/status"
)

// runAgain tells whether this is a command that a muster outside has begun, and said what
// there is to say outside.
func runAgain() bool { return os.Getenv(local.EnteredBy) == local.EnteredAgain }

// inside tells whether this muster runs on a machine of a cluster.
func inside() bool {
	_, err := os.Stat(services.Muster)
	return err == nil || guest()
}

// onHead makes a command one that runs on the head node, where Slurm's programs
// are and lead to the right cluster. From elsewhere, the same command line is
// run again there.
func (a *app) onHead(run func(c *cobra.Command, args []string, s slurm.Client) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if !inside() {
			return a.again(c.Context())
		}
		if err := endWithCaller(); err != nil {
			return err
		}
		return run(c, args, slurm.Client{Runner: slurm.Exec{}})
	}
}

// endWithCaller ends this process when the caller is killed who has entered the cluster by
// it: it would not learn of that.
func endWithCaller() error {
	if os.Getenv(local.EnteredBy) == "" {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		return fmt.Errorf("tie to the caller: %w", err)
	}
	return nil
}

// insideOf is the cluster whose machine this is.
type insideOf struct{}

func (insideOf) Slurm() (slurm.Client, error) { return slurm.Client{Runner: slurm.Exec{}}, nil }

func (insideOf) Control() (client.Client, error) {
	if guest() {
		return client.Client{}, errTheirs
	}
	return client.In(services.RunDir), nil
}

func (insideOf) Events() (string, error) {
	switch {
	case guest():
		return "", errTheirs
	case onCloudHead():
		return headnode.Events, nil
	}
	return "", onHost()
}

// Processes are those of a local cluster's nodes, below the machine's first process.
func (insideOf) Processes() (map[string]place.Process, error) {
	if onCloudHead() || guest() {
		return nil, nil
	}
	return local.Inside()
}

func (insideOf) Bring(context.Context, string) error { return nil }

// Sight looks at the head node, from which nodes may differ: they share the working
// directory.
func (insideOf) Sight() (place.Sight, error) {
	file, _ := spec.Load(services.ClusterFile)
	dir, err := os.Getwd()
	if file == nil || err != nil {
		return place.Sight{}, nil
	}
	stat := func(path string) (fs.FileInfo, error) {
		for _, d := range append(private, file.ScratchDirs()...) {
			if (path == d || strings.HasPrefix(path, d+"/")) && !strings.HasPrefix(path, dir+"/") {
				return nil, fmt.Errorf("look at %s: %w", path, nodes.ErrUnseen)
			}
		}
		return os.Stat(path)
	}
	return place.Sight{File: file, Stat: stat, Path: os.Getenv("PATH")}, nil
}

// statusHere looks at the cluster on AWS that this machine belongs to.
func statusHere(ctx context.Context) (status.Cluster, error) { return headnode.Status(ctx) }
