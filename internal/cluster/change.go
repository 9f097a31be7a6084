package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// removable refuses to take away nodes that run jobs.
func (u *up) removable(ctx context.Context) error {
	anchor, alive := u.layout.Alive()
	if !alive {
		return nil
	}
	have, err := u.layout.Addresses()
	if err != nil {
		return err
	}
	gone := func(node string) bool {
		_, was := have[node]
		_, is := u.config.addresses[node]
		return was && !is && node != u.config.record.HeadName
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(have)), gone) {
		return nil
	}
	// A job that is ending leaves its nodes within moments.
	ctx, cancel := context.WithTimeout(ctx, endingLimit)
	defer cancel()
	for {
		out, err := u.onHead(ctx, anchor, "squeue", "--noheader", "--states=RUNNING,COMPLETING,SUSPENDED,CONFIGURING", "--format=%A %T %N")
		if err != nil {
			return fmt.Errorf("see which nodes are in use: %w", err)
		}
		user, err := userOf(out, gone)
		if err != nil || user == (nodeUser{}) {
			return err
		}
		if user.ending {
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-ctx.Done():
			}
		}
		return fmt.Errorf("the file no longer has node %s, but job %s runs on it: wait for it, or `muster job cancel %s`", user.node, user.job, user.job)
	}
}

// endingLimit is how long a job may take to end before a change is refused for it.
const endingLimit = 10 * time.Second

// nodeUser is a job that has a node, or is just leaving it.
type nodeUser struct {
	job, node string
	ending    bool
}

// userOf finds in squeue's output a job that has one of certain nodes: one that
// stays before one that is ending.
func userOf(squeue string, certain func(node string) bool) (nodeUser, error) {
	var found nodeUser
	for line := range strings.Lines(squeue) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		nodes, err := slurm.Expand(f[2])
		if err != nil {
			return nodeUser{}, err
		}
		if i := slices.IndexFunc(nodes, certain); i >= 0 && (found.job == "" || found.ending) {
			found = nodeUser{job: f[0], node: nodes[i], ending: f[1] == "COMPLETING"}
		}
	}
	return found, nil
}
