// Package local brings a local cluster up, changes it and takes it down, in
// named steps that may each be repeated: after a crash the same call goes on. It
// wires the plan to the provider; what a cluster is made of it leaves to them.
package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-hpc/muster/internal/local/nodes"
)

// Ref names a local cluster.
type Ref struct {
	Home string
	Name string
}

// Layout is the cluster's run directory.
func (r Ref) Layout() *nodes.Layout {
	uid, gid := os.Getuid(), os.Getgid()
	return &nodes.Layout{Dir: filepath.Join(r.Home, r.Name), Rootless: uid != 0, UID: uid, GID: gid}
}

// How often to look while waiting: at files, and by running a program.
const (
	lookEvery = 10 * time.Millisecond
	askEvery  = 200 * time.Millisecond
)

// await calls f every so often until it is true, its time is over or ctx ends.
func await(ctx context.Context, limit, every time.Duration, f func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ok, err := f()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
