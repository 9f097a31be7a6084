package local

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/status"
)

// sight is a look at a cluster.
type sight struct{ status.Cluster }

// Status looks at a cluster. It waits long for no answer.
func Status(ctx context.Context, ref Ref) status.Cluster {
	s := sight{status.Cluster{Name: ref.Name, Place: "local", State: "stopped", Dir: ref.Layout().Dir}}
	s.look(ctx, ref)
	return s.Cluster
}

func (s *sight) look(ctx context.Context, ref Ref) {
	if why := ref.withoutDirectory(); why != nil {
		s.State = "unreadable"
		s.Needs("%v", why)
		return
	}
	l, r, err := nodes.Open(s.Dir)
	if err != nil {
		s.State = "unreadable"
		s.Unseen("its record cannot be read: %v", err)
		return
	}
	s.File, s.User = r.File, r.User
	anchor, alive := l.Alive()
	if owner := ref.foreign(); owner != "" {
		s.lookFromOutside(l, owner, alive)
		return
	}
	if alive {
		s.lookAtServices(l, time.Now())
		s.judgeMachines(nodes.Hanging(anchor))
		s.LookAtSlurm(ctx, slurmOf(l, anchor))
		if s.State == "up" {
			s.LookAtFleet(ctx, Controller(l))
		}
		s.lookAtS3(l)
		s.LookAtExports(ctx, Controller(l))
	} else {
		s.Needs("it does not run; `muster up %s` starts it again", cmp.Or(r.File, "FILE"))
		if u := unasked(l); u != nil {
			s.Blind = append(s.Blind, "exports: "+status.ExportsUnknown+": "+u.Why)
		}
	}
	s.lookAtMounts(ctx, l, r)
	s.lookAtSpace(s.Dir)
	s.Judge()
}

// lookFromOutside is the look of another user, who sees only the services.
func (s *sight) lookFromOutside(l *nodes.Layout, owner string, alive bool) {
	if alive {
		s.lookAtServices(l, time.Now())
	}
	s.Unseen("cluster %s is %s's: only %s its nodes, jobs and storage", s.Name, owner, andRoot(owner, "sees", "see"))
}

func (s *sight) lookAtServices(l *nodes.Layout, now time.Time) {
	if info, err := os.Stat(l.Path("anchor.json")); err == nil {
		s.Since = info.ModTime()
	}
	running, err := supervise.LoadStatus(l.Path("run", "services.json"))
	s.JudgeServices(running, err, l.Path("log"), now)
}

// judgeMachines says which machines hang.
func (s *sight) judgeMachines(hanging []nodes.Hung, err error) {
	if err != nil {
		s.Unseen("machines: %v", err)
	}
	for _, h := range hanging {
		name := "node " + h.Node
		if h.Node == "" {
			name = "the head node"
		}
		s.Needs("%s is hanging: a signal stopped its first process; `kill -CONT %d` lets it go on", name, h.PID)
	}
}

// andRoot is the subject and the verb of what an owner and root do, who may be the same user.
func andRoot(owner, does, do string) string {
	if owner == "root" {
		return "root " + does
	}
	return owner + " and root " + do
}
