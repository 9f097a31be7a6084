package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// update takes up a new revision: what it says is written, and what must is started
// again. Jobs do not notice. A head node whose boot failed boots anew.
func (h *headNode) update(ctx context.Context) error {
	if h.services == nil {
		h.again = false
		return h.bootHead(ctx)
	}
	had := h.cluster.site.Revision
	steps := []step{
		{readStep, h.read},
		{"take up muster", h.takeUp},
		{"mount volumes", h.volumes},
		{"mount file systems", h.mounts},
		{"export directories", h.export},
		{"make directories", h.shared},
		{"prepare containers", h.containers},
		{"prepare database", h.database},
		{"apply configuration", h.apply},
		{manifest.SetAccounts, h.accounts},
		h.actions(spec.OnNodeUpdated),
	}
	h.status.anew()
	for _, s := range steps {
		if err := h.take(ctx, s); err != nil {
			h.cluster.version = "" // the next poll tries again
			return err
		}
	}
	h.Log.Info("updated", "from", had, "to", h.cluster.site.Revision)
	h.status.ready(h.cluster.site.Revision)
	return nil
}

// apply writes the configuration and has the daemons take it up.
func (h *headNode) apply(ctx context.Context) (string, error) {
	h.accountsFirst(ctx)
	changed, detail, err := h.configure(ctx)
	if err != nil {
		return "", err
	}
	if _, err := h.serveAll(ctx); err != nil {
		return "", err
	}
	if !changed {
		return detail + ", as before", h.renew(ctx, "controller")
	}
	return detail, h.reconfigure(ctx)
}

// renew starts services again. The controller reads the cluster file and the site when
// it starts.
func (h *headNode) renew(ctx context.Context, names ...string) error {
	for _, name := range names {
		if slices.ContainsFunc(h.services, is(name)) {
			if err := h.restart(ctx, h.services, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// reconfigure has the daemons take up a configuration that was written.
func (h *headNode) reconfigure(ctx context.Context) error {
	if err := h.renew(ctx, "slurmdbd", "slurmctld", "controller"); err != nil {
		return err
	}
	return slurm.Client{Runner: slurm.Exec{Conf: h.slurm.Conf + "/slurm.conf"}}.Reconfigure(ctx)
}

// is tells whether a service has a name.
func is(name string) func(supervise.Service) bool {
	return func(s supervise.Service) bool { return s.Name == name }
}

// watch keeps a compute or login node as it is until ctx ends: supervised, on the
// cluster's revision, and alive only while the cluster is.
func (n *node) watch(ctx context.Context) error {
	tick := time.NewTicker(n.Limits.Poll)
	defer tick.Stop()
	seen, polled := time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		n.keep(ctx)
		n.settle(ctx)
		if n.headAnswers(ctx) || n.busy() {
			seen = time.Now()
		}
		if gone := time.Since(seen); n.Name != "" && gone > n.Limits.HeadGone {
			return n.shutDown(ctx, fmt.Sprintf("the head node has not answered for %s, and no job runs here", gone.Round(time.Second)))
		}
		if time.Since(polled) >= 4*n.Limits.Poll {
			if err := n.poll(ctx); err != nil && ctx.Err() == nil {
				n.Log.Error("update failed", "error", err)
			}
			polled = time.Now()
		}
	}
}

// keep sees to what others may have undone: the supervisor, and the resolver's zone.
func (a *agent) keep(ctx context.Context) {
	if err := a.keepSupervised(); err != nil {
		a.Log.Error("services are not supervised", "error", err)
	}
	if _, err := a.machine.Search(ctx, a.Ticket.ZoneName); err != nil {
		a.Log.Error("names are not looked for in the cluster's zone", "error", err)
	}
}

// poll takes up a new revision: new mounts, and the scripts for it.
func (n *node) poll(ctx context.Context) error {
	at, err := n.bucket.Head(ctx, manifest.SiteKey(n.Ticket.Cluster))
	if err != nil || at.Version == n.cluster.version {
		return err
	}
	c, err := n.readOnce(ctx)
	if err != nil {
		return err
	}
	had := n.cluster
	n.cluster = c
	var errs []error
	steps := []step{{"mount file systems", n.mounts}, {"prepare containers", n.containers}}
	if n.Ticket.Role == manifest.RoleLogin { // queues have no such scripts
		steps = append(steps, n.actions(spec.OnNodeUpdated))
	}
	for _, s := range steps {
		detail, err := s.do(ctx)
		if err == nil {
			n.Log.Info("step of an update done", "step", s.name, "detail", detail)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		n.cluster = had // the next poll tries again
		return err
	}
	return nil
}
