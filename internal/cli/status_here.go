//go:build linux

package cli

import (
	"context"

	"github.com/muster-hpc/muster/internal/aws/headnode"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/status"
)

// lookAt looks at a cluster on this machine.
func lookAt(ctx context.Context, home, name string) status.Cluster {
	return local.Status(ctx, local.Ref{Home: home, Name: name})
}

// statusHere looks at the cluster on AWS that this machine belongs to.
func statusHere(ctx context.Context) (status.Cluster, error) { return headnode.Status(ctx) }
