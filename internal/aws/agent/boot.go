package agent

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// step is one step of a boot.
type step struct {
	name string
	do   func(ctx context.Context) (detail string, err error)
}

// imageServices are units that images start by themselves and that the agent runs.
var imageServices = []string{"munge", "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "sackd", "mariadb", "mysqld"}

// quiet stops what the image starts by itself and is not wanted.
func (a *agent) quiet(ctx context.Context) (string, error) {
	detail, err := a.machine.Quiet(ctx, imageServices)
	if calmed := a.machine.Calm(ctx); calmed != "" {
		detail += ", " + calmed
	}
	return detail, err
}

// readStep is the step that finds out which revision of the cluster it is.
const readStep = "read cluster"

// first are the steps of every machine that come before its services.
func (a *agent) first() []step {
	return []step{
		{"identify machine", a.identify},
		{readStep, a.read},
		{"stop the image's services", a.quiet},
		{"find users", func(ctx context.Context) (string, error) {
			detail, err := a.machine.Users(ctx, boot.Accounts)
			if err != nil {
				return "", err
			}
			if err := a.directories(); err != nil {
				return "", err
			}
			if a.cluster.file.NoSudo {
				user := a.cluster.file.DefaultUser()
				detail += ", " + user + " may not use sudo"
				err = a.machine.RevokeSudo(user)
			}
			return detail, err
		}},
		{"bring munge key", a.mungeKey},
		{"leave what scripts expect", a.expected},
	}
}

// onceDir has a file for each event that a machine has only once, when its scripts
// have run: a machine that starts again does not run them again.
const onceDir = "/var/lib/muster/ran"

// actions runs the cluster file's scripts for an event.
func (a *agent) actions(event spec.Event) step {
	return step{actionStep + string(event), func(ctx context.Context) (string, error) {
		if event == spec.OnNodeUpdated {
			return a.run(ctx, event)
		}
		ran, err := a.machine.Read(onceDir + "/" + string(event))
		if err != nil || ran != "" {
			return "ran before: " + strings.TrimSpace(ran), err
		}
		detail, err := a.run(ctx, event)
		if err == nil {
			_, err = a.machine.Write(onceDir+"/"+string(event), detail+"\n", 0o644, "")
		}
		return detail, err
	}}
}

// actionStep begins the names of steps that run scripts.
const actionStep = "run "

func (a *agent) run(ctx context.Context, event spec.Event) (string, error) {
	all, err := a.cluster.actions(a.Ticket)
	if err != nil {
		return "", err
	}
	scripts := boot.Scripts{Machine: a.machine, Fetch: a.fetch, Limit: a.cluster.limit(a.Ticket), Env: a.environment()}
	return scripts.Run(ctx, event, all[event])
}

// limit is how long a machine may take to boot, and its scripts with it.
func (c *cluster) limit(t manifest.Ticket) time.Duration {
	if t.Role == manifest.RoleHead {
		return c.file.Timeouts.HeadNode
	}
	return c.file.Timeouts.ComputeNode
}

// limited bounds the rest of a boot. A burn-in has its own time.
func (a *agent) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := a.cluster.limit(a.Ticket)
	why := fmt.Errorf("the boot took longer than the cluster file's %s", limit)
	if wish := a.cluster.workload.BurnInOf(a.Ticket.Queue); wish != nil && a.Ticket.Role == manifest.RoleCompute {
		why = fmt.Errorf("the boot took longer than the cluster file's %s and the %s of its burn-in", limit, wish.Limit())
		limit += wish.Limit() + spec.BurnInEnds
	}
	return context.WithTimeoutCause(ctx, limit, why)
}

// environment is what scripts learn of the machine.
func (a *agent) environment() []string {
	return []string{
		"MUSTER_CLUSTER=" + a.Ticket.Cluster, "MUSTER_ROLE=" + a.Ticket.Role, "MUSTER_QUEUE=" + a.Ticket.Queue,
		"MUSTER_RESOURCE=" + a.Ticket.Resource, "AWS_REGION=" + a.Ticket.Region, "AWS_DEFAULT_REGION=" + a.Ticket.Region,
	}
}

// fetch opens an object of any bucket that the machine may read.
func (a *agent) fetch(ctx context.Context, bucket, key string) (io.ReadCloser, error) {
	b := a.bucket
	if bucket != a.Ticket.Bucket {
		var err error
		if b, err = a.open(ctx, bucket); err != nil {
			return nil, err
		}
	}
	body, _, err := b.Get(ctx, key)
	return body, err
}

// named is the machine's name in the cluster.
func (a *agent) named(name string) step {
	return step{"name machine", func(ctx context.Context) (string, error) {
		detail, err := a.machine.HostName(ctx, name)
		if err != nil {
			return "", err
		}
		headAddress := a.Ticket.Head
		if a.Ticket.Role == manifest.RoleHead {
			headAddress = a.identity.Address.String()
		}
		err = a.machine.Hosts(map[string]string{headName(a.Ticket.Cluster): headAddress, name: a.identity.Address.String()})
		if err != nil {
			return "", err
		}
		search, err := a.machine.Search(ctx, a.Ticket.ZoneName)
		return detail + "; " + search, err
	}}
}

// scratch mounts the instance's own disks.
func (a *agent) scratch() step {
	return step{"mount the instance's own disks", func(ctx context.Context) (string, error) {
		if a.Ticket.Role == manifest.RoleLogin {
			return "not on login nodes", nil
		}
		dir, err := a.scratchDir()
		if err != nil {
			return "", err
		}
		return a.machine.Scratch(ctx, a.identity.Type, dir)
	}}
}

// scratchDir is where the file wants the instance's own disks. It says nothing of
// login nodes'.
func (a *agent) scratchDir() (string, error) {
	switch a.Ticket.Role {
	case manifest.RoleHead:
		return a.cluster.file.HeadNode.ScratchDir, nil
	case manifest.RoleLogin:
		return "/scratch", nil
	}
	q, err := a.cluster.queue(a.Ticket)
	return q.ScratchDir, err
}

// mounts mounts all that a machine mounts from elsewhere.
func (a *agent) mounts(ctx context.Context) (string, error) {
	var done []string
	for _, s := range a.cluster.site.Storage {
		if s.Type == spec.EBS && a.Ticket.Role == manifest.RoleHead {
			continue // volumes has it
		}
		w, err := boot.MountOf(s, a.Ticket.Head)
		if err != nil {
			return "", err
		}
		mount := a.machine.Mount
		if w.Target == "/home" && a.Ticket.Role == manifest.RoleHead {
			mount = a.machine.MountHome
		}
		detail, err := mount(ctx, w)
		if err != nil {
			return "", err
		}
		done = append(done, detail)
	}
	if a.Ticket.Role != manifest.RoleHead && a.cluster.sharedHome() {
		detail, err := a.machine.Mount(ctx, boot.NFS(a.Ticket.Head, "/home"))
		if err != nil {
			return "", err
		}
		done = append(done, detail)
	}
	if len(done) == 0 {
		return "nothing to mount", nil
	}
	return strings.Join(done, ", "), nil
}
