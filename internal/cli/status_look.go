//go:build linux

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/supervise"
)

// lookAtAll looks at clusters, all at once.
func lookAtAll(ctx context.Context, home string, names []string) []clusterStatus {
	all := make([]clusterStatus, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() { all[i] = lookAt(ctx, local.Ref{Home: home, Name: name}) })
	}
	group.Wait()
	return all
}

// lookAt looks at one cluster. It waits for no answer longer than slurmWait.
func lookAt(ctx context.Context, ref local.Ref) clusterStatus {
	s := clusterStatus{Name: ref.Name, Place: onLocal, State: "stopped", Dir: ref.Layout().Dir}
	l, r, err := nodes.Open(s.Dir)
	if err != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("its record cannot be read: %v", err))
		return s
	}
	s.File, s.User = r.File, r.User
	anchor, alive := l.Alive()
	if owner := ref.Foreign(); owner != "" {
		s.lookFromOutside(l, owner, alive)
		return s
	}
	if alive {
		s.lookAtServices(l, time.Now())
		s.judgeMachines(nodes.Hanging(anchor))
		s.lookAtSlurm(ctx, slurm.Client{Runner: fromHost{layout: l, anchor: anchor}})
		if s.State == "up" {
			s.lookAtFleet(ctx, local.Controller(l))
		}
		s.lookAtS3(l)
		s.lookAtExports(ctx, l)
	} else {
		s.needs("it does not run; `muster up %s` starts it again", r.File)
		if u := local.Unasked(l); u != nil {
			s.Blind = append(s.Blind, "exports: "+nobodyKnows+": "+u.Why)
		}
	}
	s.lookAtMounts(ctx, l, r)
	s.lookAtSpace(s.Dir)
	s.Healthy = len(s.Look)+len(s.Blind) == 0
	return s
}

// lookFromOutside says what anybody may know of a cluster, and that the rest is not seen.
func (s *clusterStatus) lookFromOutside(l *nodes.Layout, owner string, alive bool) {
	if alive {
		s.lookAtServices(l, time.Now())
	}
	s.Blind = append(s.Blind, fmt.Sprintf("cluster %s is %s's: only %s its nodes, jobs and storage", s.Name, owner, andRoot(owner, "sees", "see")))
}

func (s *clusterStatus) lookAtServices(l *nodes.Layout, now time.Time) {
	if info, err := os.Stat(l.Path("anchor.json")); err == nil {
		s.Since = info.ModTime()
	}
	services, err := supervise.LoadStatus(l.Path("run", "services.json"))
	s.judgeServices(services, err, l.Path("log"), now)
}

// judgeMachines says which machines hang.
func (s *clusterStatus) judgeMachines(hanging []nodes.Hung, err error) {
	if err != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("machines: %v", err))
	}
	for _, h := range hanging {
		name := "node " + h.Node
		if h.Node == "" {
			name = "the head node"
		}
		s.needs("%s is hanging: a signal stopped its first process; `kill -CONT %d` lets it go on", name, h.PID)
	}
}

// judgeServices says whether the services run.
func (s *clusterStatus) judgeServices(services []supervise.Status, err error, logs string, now time.Time) {
	s.State = "starting"
	if err != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("services: %v", err))
		return
	}
	for _, x := range services {
		s.Services = append(s.Services, serviceStatus{
			Name: x.Name, Phase: string(x.Phase), PID: x.PID, Since: x.Since, Restarts: x.Restarts, Last: x.Last,
		})
	}
	ready := true
	for _, x := range s.Services {
		if x.Phase == serviceReady {
			continue
		}
		ready = false
		s.needs("service %s is %s since %s%s; see %s", x.Name, x.Phase, span(now.Sub(x.Since)), lastRun(x), filepath.Join(logs, x.Name+".log"))
	}
	if ready {
		s.State = "up"
	}
}
