//go:build linux

package suite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// What a node writes and reads of each mount. A rehearsal's mounts are all one disk of one machine, which others use, too.
const (
	storageBytes, storageTime     = 8 << 30, 30 * time.Second
	rehearsedBytes, rehearsedTime = 64 << 20, 3 * time.Second
	// storageStart is what a phase may take besides: a step starts, and files are removed.
	storageStart = 90 * time.Second
)

// storage measures each shared mount from all nodes at once.
func (r *run) storage(ctx context.Context, s *verify.Suite) error {
	mounts := r.shared()
	if r.File == nil {
		if err := r.look(ctx); err != nil {
			return err
		}
		mounts = r.seenShared()
	}
	if len(mounts) == 0 {
		s.Results = append(s.Results, verify.Result{Check: "storage-write", Verdict: verify.Skip, Why: "the nodes share no file system that a file names or that is of the network"})
		return nil
	}
	var wrong []error
	for _, m := range mounts {
		r.Tell(fmt.Sprintf("writes and reads %s from %s", m.Mount, count.Of(len(r.alloc.nodes), "node")))
		tasks, err := r.measureMount(ctx, m.Mount)
		results, series := judge.Throughput(judge.StorageSeen{Mount: m.Mount, Tasks: tasks, Nodes: r.alloc.nodes, Right: m, NetworkMbps: r.networkMbps()})
		s.Results, s.Series = append(s.Results, results...), append(s.Series, series...)
		if ctx.Err() != nil {
			return err
		}
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

// shared are the file systems that the nodes share, with what they should do.
func (r *run) shared() []expect.FileSystem {
	if r.File == nil {
		return nil
	}
	all := expect.FileSystems(r.File, r.Workload)
	if r.Place == "local" {
		for i, f := range all {
			all[i] = expect.UnratedAt(f.Mount, "a rehearsal: this is a directory of this machine's disk, and no "+f.What)
		}
	}
	return all
}

// networked are the kernel's names of file systems that several machines share.
const networked = " lustre nfs nfs4 beegfs gpfs ceph wekafs glusterfs fuse.glusterfs orangefs pvfs2 panfs cifs smb3 "

// seenShared are the file systems of the network that all nodes have, where no file names them.
func (r *run) seenShared() []expect.FileSystem {
	seen := map[string]int{}
	for _, mounts := range r.computeMounts() {
		for _, m := range mounts {
			if strings.Contains(networked, " "+m.Type+" ") && !m.ReadOnly {
				seen[m.Dir]++
			}
		}
	}
	var all []expect.FileSystem
	for _, dir := range slices.Sorted(maps.Keys(seen)) {
		if seen[dir] == len(r.alloc.nodes) {
			all = append(all, expect.UnratedAt(dir, "no file says what was bought"))
		}
	}
	return all
}

// networkMbps is what the slowest kind of the nodes has, 0 if it is not known or a rehearsal.
func (r *run) networkMbps() int {
	least := 0
	for _, t := range r.types {
		if i, ok := catalog.Lookup(t); ok && i.NetworkMbps > 0 && (least == 0 || i.NetworkMbps < least) {
			least = i.NetworkMbps
		}
	}
	if r.Place == "local" {
		return 0
	}
	return least
}

// measureMount does the phases one after the other. What was written is removed whatever happened.
func (r *run) measureMount(ctx context.Context, mount string) (tasks []meter.StorageTask, err error) {
	name := rand.Text()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storageStart)
		defer cancel()
		_, ended := r.phase(ctx, load.PhaseEnd, mount, name, r.alloc.nodes[:1])
		err = errors.Join(err, ended)
	}()
	for _, phase := range []string{load.PhaseWrite, load.PhaseRead, load.PhaseMeta} {
		told, err := r.phase(ctx, phase, mount, name, r.alloc.nodes)
		tasks = append(tasks, told...)
		if err != nil || faulty(told) {
			return tasks, err
		}
	}
	return tasks, nil
}

func faulty(tasks []meter.StorageTask) bool {
	for _, t := range tasks {
		if t.Fault != "" {
			return true
		}
	}
	return false
}

// phase has all nodes do one phase at once.
func (r *run) phase(ctx context.Context, phase, mount, name string, nodes []string) ([]meter.StorageTask, error) {
	bytes, span := int64(storageBytes), storageTime
	if r.Place == "local" {
		bytes, span = rehearsedBytes, rehearsedTime
	}
	args := r.muster("storage", phase, mount, "--run="+name, "--nodes="+strings.Join(r.alloc.nodes, ","), "--until-eof",
		fmt.Sprintf("--bytes=%d", bytes), "--time="+span.String(), fmt.Sprintf("--tasks=%d", len(r.alloc.nodes)))
	var tasks []meter.StorageTask
	err := r.lines(ctx, stepOptions{nodes: nodes, args: args, input: true, limit: span + storageStart}, func(line string) {
		if t, err := meter.ReadStorageTask(line); err == nil {
			tasks = append(tasks, t)
		}
	})
	return tasks, err
}
