package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	out, err := u.onHead(ctx, anchor, "squeue", "--noheader", "--states=RUNNING,COMPLETING,SUSPENDED,CONFIGURING", "--format=%A %N")
	if err != nil {
		return fmt.Errorf("see which nodes are in use: %w", err)
	}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		nodes, err := slurm.Expand(f[1])
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(nodes, gone); i >= 0 {
			return fmt.Errorf("the file no longer has node %s, but job %s runs on it: wait for it, or `muster job cancel %s`", nodes[i], f[0], f[0])
		}
	}
	return nil
}
