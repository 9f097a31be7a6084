package cli

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/cluster"
	"github.com/muster-hpc/muster/internal/head"
	"github.com/muster-hpc/muster/internal/provider/local"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/supervise"
)

// lookAtAll looks at clusters, all at once.
func lookAtAll(ctx context.Context, refs []cluster.Ref) []clusterStatus {
	all := make([]clusterStatus, len(refs))
	var group sync.WaitGroup
	for i, ref := range refs {
		group.Go(func() { all[i] = lookAt(ctx, ref) })
	}
	group.Wait()
	return all
}

// lookAt looks at one cluster. It waits for no answer longer than slurmWait.
func lookAt(ctx context.Context, ref cluster.Ref) clusterStatus {
	s := clusterStatus{Name: ref.Name, State: "stopped", Dir: ref.Layout().Dir}
	l, r, err := local.Open(s.Dir)
	if err != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("its record cannot be read: %v", err))
		return s
	}
	s.File, s.User = r.File, r.User
	anchor, alive := l.Alive()
	if alive {
		s.lookAtServices(l, time.Now())
		s.lookAtSlurm(ctx, slurm.Client{Runner: fromHost{layout: l, anchor: anchor}})
		s.S3 = &s3Status{Endpoint: "http://" + netip.AddrPortFrom(local.HeadAddress, head.S3Port).String(), Buckets: buckets(l)}
	} else {
		s.needs("it does not run; `muster up %s` starts it again", r.File)
	}
	s.lookAtMounts(ctx, l, r)
	s.Healthy = len(s.Look)+len(s.Blind) == 0
	return s
}

func (s *clusterStatus) lookAtServices(l *local.Layout, now time.Time) {
	if info, err := os.Stat(l.Path("anchor.json")); err == nil {
		s.Since = info.ModTime()
	}
	s.State = "starting"
	services, err := supervise.LoadStatus(l.Path("run", "services.json"))
	if err != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("services: %v", err))
		return
	}
	s.Services = services
	ready := true
	for _, x := range services {
		if x.Phase == supervise.Ready {
			continue
		}
		ready = false
		s.needs("service %s is %s since %s%s; see %s", x.Name, x.Phase, span(now.Sub(x.Since)), lastRun(x), l.Path("log", x.Name+".log"))
	}
	if ready {
		s.State = "up"
	}
}

// lastRun says how a service's last run ended.
func lastRun(s supervise.Status) string {
	if s.Last == "" {
		return ""
	}
	return ", its last run " + s.Last
}

// lookAtSlurm asks for nodes and jobs at the same time.
func (s *clusterStatus) lookAtSlurm(ctx context.Context, c slurm.Client) {
	ctx, cancel := limited(ctx)
	defer cancel()
	var jobs []slurm.Job
	var odd []slurm.Problem
	var jobsErr error
	var group sync.WaitGroup
	group.Go(func() { jobs, odd, jobsErr = c.Jobs(ctx) })
	nodes, err := c.Nodes(ctx)
	group.Wait()
	if err != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("nodes: %v", err))
	} else {
		s.judgeNodes(nodes)
	}
	if jobsErr != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("jobs: %v", jobsErr))
		return
	}
	s.Jobs = countJobs(jobs)
	if len(odd) > 0 {
		s.Blind = append(s.Blind, fmt.Sprintf("jobs: %s cannot be read", count(len(odd), "row")))
	}
}

// nodeStates are what nodes do, in the order in which they are shown.
var nodeStates = []string{"allocated", "mixed", "completing", "idle", "maintenance", "powering up", "powering down", "powered down",
	"draining", "drained", "not responding", "down", "unknown"}

// nodeState is what a node does, in one word of nodeStates.
func nodeState(s slurm.NodeState) string {
	switch {
	case s.PoweringDown():
		return "powering down"
	case s.Down():
		return "down"
	case s.Draining() && s.Busy():
		return "draining"
	case s.Draining():
		return "drained"
	case s.PoweredDown():
		return "powered down"
	case s.PoweringUp():
		return "powering up"
	case s.Has(slurm.FlagNotResponding):
		return "not responding"
	case s.Base == slurm.BaseAllocated:
		return "allocated"
	case s.Base == slurm.BaseMixed:
		return "mixed"
	case s.Has(slurm.FlagCompleting):
		return "completing"
	case s.Has(slurm.FlagMaintenance):
		return "maintenance"
	case s.Base == slurm.BaseIdle:
		return "idle"
	}
	return "unknown"
}

// troubled are the states in which a node needs a look.
var troubled = []string{"draining", "drained", "not responding", "down", "unknown"}

func (s *clusterStatus) judgeNodes(nodes []slurm.Node) {
	byState, byReason := map[string][]string{}, map[string][]string{}
	for _, n := range nodes {
		state := nodeState(n.State)
		byState[state] = append(byState[state], n.Name)
		if slices.Contains(troubled, state) {
			why := state
			if n.Reason != "" {
				why += ": " + n.Reason
			}
			byReason[why] = append(byReason[why], n.Name)
		}
	}
	s.Nodes = &nodesStatus{Total: len(nodes)}
	for _, state := range nodeStates {
		if names := byState[state]; len(names) > 0 {
			s.Nodes.States = append(s.Nodes.States, nodesState{State: state, Count: len(names), Nodes: slurm.Compress(names)})
		}
	}
	for _, why := range sortedKeys(byReason) {
		s.needs("%s: %s", slurm.Compress(byReason[why]), why)
	}
	if len(byReason) > 0 {
		s.needs("to take nodes back into service: muster exec -- scontrol update NodeName=NAMES State=RESUME")
	}
}

func countJobs(jobs []slurm.Job) *jobsStatus {
	var n jobsStatus
	for _, j := range jobs {
		switch j.State {
		case "RUNNING":
			n.Running++
		case "CONFIGURING":
			n.Starting++
		case "COMPLETING":
			n.Completing++
		case "SUSPENDED", "STOPPED":
			n.Suspended++
		case "PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED":
			n.Pending++
		}
	}
	return &n
}

// buckets are those of the cluster's S3 server, which keeps each as a folder.
func buckets(l *local.Layout) []string {
	names := []string{}
	entries, err := os.ReadDir(l.Path("s3"))
	if err != nil {
		return names
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// lookAtMounts measures the file systems of the cluster file.
func (s *clusterStatus) lookAtMounts(ctx context.Context, l *local.Layout, r local.Record) {
	for _, m := range r.Shared {
		if !strings.HasPrefix(m.Source, l.Path("shared")+"/") {
			continue
		}
		mount := mountStatus{Path: m.Target, Dir: m.Source}
		mount.UsedBytes, mount.AtLeast = diskUse(ctx, m.Source)
		var fs unix.Statfs_t
		if err := unix.Statfs(m.Source, &fs); err != nil {
			s.Blind = append(s.Blind, fmt.Sprintf("%s: %v", m.Target, err))
			continue
		}
		mount.FreeBytes = int64(fs.Bavail) * fs.Bsize
		s.Mounts = append(s.Mounts, mount)
	}
}

// useWait is how long the files of one file system are counted.
const useWait = time.Second

// diskUse is how many bytes of disk a tree takes. atLeast says that not all of
// it could be seen in time.
func diskUse(ctx context.Context, dir string) (bytes int64, atLeast bool) {
	end := time.Now().Add(useWait)
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if ctx.Err() != nil || time.Now().After(end) {
			atLeast = true
			return filepath.SkipAll
		}
		if err != nil {
			return nil // it went away meanwhile
		}
		if info, err := d.Info(); err == nil {
			bytes += blocks(info)
		}
		return nil
	})
	return bytes, atLeast || err != nil
}

// blocks is what a file takes on disk. Folders count as nothing.
func blocks(info os.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && !info.IsDir() {
		return stat.Blocks * 512
	}
	return 0
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
