//go:build linux

package suite

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// What a node writes and reads of each mount. A rehearsal's mounts are all one disk of one machine, which others use, too.
const (
	storageBytes, storageTime = 8 << 30, 30 * time.Second
	// aloneBytes are those of a machine's own disks, of which it has several.
	aloneBytes                    = 64 << 30
	rehearsedBytes, rehearsedTime = 64 << 20, 3 * time.Second
	// leastBytes is the least that says anything: a few writes of each stream.
	leastBytes     = 256 << 20
	storageStreams = 8
	// storageStart is what a phase may take besides: a step starts, and files are removed.
	storageStart = 90 * time.Second
)

// storage measures each shared mount from all nodes at once.
func (r *run) storage(ctx context.Context, s *verify.Suite) error {
	mounts := r.shared()
	if r.Alone != "" {
		own, none, err := r.ownDisks(ctx)
		if err != nil {
			return err
		}
		if none != "" {
			s.Results = append(s.Results, verify.Result{Check: "storage-write", On: r.Alone, Verdict: verify.Skip, Why: none})
			return nil
		}
		mounts = own
	} else if r.File == nil {
		if err := r.look(ctx); err != nil {
			return err
		}
		mounts = r.seenShared()
	}
	if len(mounts) == 0 {
		s.Results = append(s.Results, verify.Result{Check: "storage-write", Verdict: verify.Skip, Why: "the nodes share no file system that a file names or that is of the network"})
		return nil
	}
	with, err := r.storageBy(ctx, mounts)
	wrong := []error{err}
	for i, m := range mounts {
		dir := with.Dir(i, r.alloc.nodes)
		if r.File == nil && r.Alone == "" && dir == "" && err == nil {
			s.Results = append(s.Results, verify.Result{Check: "storage-measured", On: m.Mount, Verdict: verify.Skip, Why: "this user may write neither there nor in a directory of his own on it"})
			continue
		}
		seen, err := r.measureMount(ctx, m, cmp.Or(dir, m.Mount), &with)
		results, series := judge.Throughput(seen)
		s.Results, s.Series = append(append(s.Results, with.refused...), results...), append(s.Series, series...)
		with.refused = nil
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

func faulty(tasks []meter.StorageTask) bool {
	return slices.ContainsFunc(tasks, func(t meter.StorageTask) bool { return t.Fault != "" })
}

// storageSize is what a node writes and reads of a mount, and for how long.
type storageSize struct {
	bytes int64
	span  time.Duration
}

// sizeOf is the size for a mount. One that no file names may be small: it is asked for no more than it has room for.
func (r *run) sizeOf(mount string) storageSize {
	if r.Place == "local" {
		return storageSize{rehearsedBytes, rehearsedTime}
	}
	size := storageSize{storageBytes, storageTime}
	if r.Alone != "" {
		size.bytes = aloneBytes
	}
	if r.File != nil && r.Alone == "" {
		return size
	}
	for _, mounts := range r.computeMounts() {
		if m := holding(mounts, mount); m.Blind == "" && (m.Dir == mount || r.Alone != "") {
			size.bytes = min(size.bytes, m.FreeBytes/4/int64(len(r.alloc.nodes)))
		}
	}
	size.bytes = max(size.bytes, leastBytes)
	return size
}

// holding is the file system that a directory lies on, by its name.
func holding(mounts []verify.Mount, dir string) (deepest verify.Mount) {
	for _, m := range mounts {
		below := m.Dir == "/" || dir == m.Dir || strings.HasPrefix(dir, m.Dir+"/")
		if below && len(m.Dir) >= len(deepest.Dir) { // what was mounted later hides what lies below
			deepest = m
		}
	}
	return deepest
}

// pass is one run of phases in one directory, of which nothing is left.
type pass struct {
	*run
	dir, name string
	size      storageSize
	// by is what writes and reads, empty for muster; room is what other programs write later.
	by   string
	room int64
}

// inPass does something in a directory's new place. What was written is removed whatever happens: where this process does not come to
// it, or steps may still be on their way, by what holds the nodes.
func (r *run) inPass(ctx context.Context, dir string, size storageSize, do func(pass) error) error {
	p := pass{run: r, dir: dir, name: rand.Text(), size: size}
	if err := r.alloc.leaves(r.program, p.name, dir); err != nil {
		return err
	}
	r.unfinished = append(r.unfinished, p)
	err := do(p)
	if ctx.Err() != nil {
		r.removeHere()
		return err
	}
	tasks, ended := p.phase(ctx, load.PhaseEnd, r.alloc.nodes) // of all: one may have another file system there
	if ended == nil && len(tasks) == len(r.alloc.nodes) && !faulty(tasks) {
		r.unfinished = r.unfinished[:len(r.unfinished)-1]
		ended = r.alloc.leaves("", p.name, dir)
	}
	return errors.Join(err, ended)
}

// phases has all nodes do phases, one after the other, until one is faulty.
func (p pass) phases(ctx context.Context, phases ...string) (tasks []meter.StorageTask, err error) {
	for _, phase := range phases {
		told, err := p.phase(ctx, phase, p.alloc.nodes)
		tasks = append(tasks, told...)
		if err != nil || faulty(told) {
			return tasks, err
		}
	}
	return tasks, nil
}

// options are those of a phase as a step, on some nodes.
func (p pass) options(phase string, nodes []string) stepOptions {
	args := p.muster("storage", phase, p.dir, "--run="+p.name, "--nodes="+strings.Join(p.alloc.nodes, ","), "--until-eof",
		fmt.Sprintf("--bytes=%d", p.size.bytes), "--time="+p.size.span.String(), fmt.Sprintf("--streams=%d", storageStreams),
		fmt.Sprintf("--tasks=%d", len(p.alloc.nodes)), fmt.Sprintf("--room=%d", p.room))
	if p.by != "" {
		args = append(args, "--by="+p.by)
	}
	return stepOptions{nodes: nodes, args: args, input: true, outlives: true}
}

// phase has nodes do one phase at once.
func (p pass) phase(ctx context.Context, phase string, nodes []string) ([]meter.StorageTask, error) {
	o := p.options(phase, nodes)
	o.limit = p.size.span + storageStart
	var tasks []meter.StorageTask
	err := p.lines(ctx, o, func(line string) {
		if t, err := meter.ReadStorageTask(line); err == nil {
			tasks = append(tasks, t)
		}
	})
	return tasks, err
}
