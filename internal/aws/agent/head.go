package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// headNode is a head node's part of an agent.
type headNode struct {
	*agent
	status   *bootStatus
	services []supervise.Service
	// again says that a boot that failed may be tried again: what failed was no script
	// of the user's.
	again bool
	// poor is why there is no accounting, empty if there is.
	poor string
	// unset is why Slurm's accounts are not as muster.yaml says, empty if they are, unsetAt when they were set last.
	unset   string
	unsetAt time.Time
	// uninstalled says that a database could not be installed, and installed has the end
	// of what goes on trying.
	uninstalled bool
	installed   chan error
	// exposed is why users of the head node have its rights, empty if they have not.
	exposed string
	// rewritten says that Slurm's configuration changed before services were started.
	rewritten bool
	// sum is the SHA-256 of this program, tried the last test job that was begun.
	sum, tried string
}

func (a *agent) runHead(ctx context.Context) error {
	sum, err := running()
	if err != nil {
		return err
	}
	h := &headNode{agent: a, status: newBootStatus(a.Version, sum), sum: sum}
	h.background.Go(func() { h.measure(ctx) })
	h.tryBoot(ctx)
	return h.watch(ctx)
}

// tryBoot boots, or says why that failed. The machine stays: its user may want to look,
// and another attempt or a new revision may help.
func (h *headNode) tryBoot(ctx context.Context) {
	err := h.bootHead(ctx)
	if err == nil || ctx.Err() != nil {
		return
	}
	h.Log.Error("boot failed", "error", err)
	console(err.Error())
	h.status.fail(err, logEnd(logFile, tailLines))
	h.publish(ctx)
}

// headSteps are a head node's boot.
func (h *headNode) headSteps() []step {
	// Users come back with the machine: before anything else, its rights are root's.
	all := slices.Insert(h.first(), 2, step{"restrict metadata", h.restrict})
	return append(all, []step{
		h.actions(spec.OnNodeStart),
		h.named(headName(h.Ticket.Cluster)),
		h.scratch(),
		h.tune(),
		h.gpus(),
		{"mount volumes", h.volumes},
		{"mount file systems", h.mounts},
		{"export directories", h.export},
		{"make directories", h.shared},
		{"make key for SSH", func(ctx context.Context) (string, error) {
			if h.cluster.file.LocalHomes {
				return "homes are each machine's own", nil
			}
			return h.machine.ClusterKey(ctx, h.cluster.file.DefaultUser())
		}},
		{"prepare containers", h.containers},
		{"prepare database", h.database},
		{"write configuration", func(ctx context.Context) (string, error) {
			changed, detail, err := h.configure(ctx)
			h.rewritten = h.rewritten || changed
			return detail, err
		}},
		{"start services", h.start},
		{manifest.SetAccounts, h.accounts},
		h.actions(spec.OnNodeConfigured),
		{actionStep + string(spec.OnNodeUpdated), h.updated},
	}...)
}

// bootHead runs the steps.
func (h *headNode) bootHead(ctx context.Context) error {
	outer, cancel := ctx, func() {}
	defer func() { cancel() }()
	h.status.anew()
	for _, s := range h.headSteps() {
		if err := h.take(ctx, s); err != nil {
			h.again = !strings.HasPrefix(s.name, actionStep)
			return err
		}
		if s.name == readStep {
			h.ship(outer, []string{"slurmctld", "slurmdbd", "slurmrestd", "controller", "mariadb", "munged", "supervise"})
			ctx, cancel = h.limited(outer)
		}
	}
	h.status.ready(h.cluster.site.Revision)
	h.publish(ctx)
	return nil
}

// take takes a step of a boot or of an update, and says in the status how it went.
func (h *headNode) take(ctx context.Context, s step) error {
	h.status.begin(s.name)
	h.publish(ctx)
	began := time.Now()
	detail, err := s.do(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if s.name == readStep {
		h.status.read(h.cluster.site.Revision)
	}
	h.Log.Info("step done", "step", s.name, "detail", detail, "seconds", time.Since(began).Seconds())
	h.status.done(s.name, detail, time.Since(began))
	return nil
}

func (h *headNode) export(ctx context.Context) (string, error) {
	return h.machine.Export(ctx, h.cluster.exports(), h.networks())
}

func (h *headNode) volumes(ctx context.Context) (string, error) {
	var done []string
	for _, s := range h.cluster.site.Storage {
		if s.Type != spec.EBS {
			continue
		}
		if len(s.IDs) > 1 && s.RAID == "" {
			return "", fmt.Errorf("the manifest is an older muster's and does not say how the volumes of %s are one: run `muster up` again", s.Name)
		}
		detail, err := h.machine.Volumes(ctx, boot.Volume{Name: s.Name, Dir: s.MountDir, IDs: s.IDs, Level: s.RAID})
		if err != nil {
			return "", err
		}
		done = append(done, detail)
	}
	if len(done) == 0 {
		return "none in the file", nil
	}
	return strings.Join(done, ", "), nil
}

// shared makes muster.yaml's directories and the one of images on shared storage. They
// belong to the image's default user.
func (h *headNode) shared(context.Context) (string, error) {
	owner := h.cluster.file.DefaultUser()
	if _, err := user.Lookup(owner); err != nil {
		owner = ""
	}
	for _, s := range h.cluster.site.Storage {
		if !s.Made || s.MountDir == "/home" {
			continue // homes are root's, and each user's below them his own
		}
		if _, err := h.machine.Open(s.MountDir); err != nil {
			return "", err
		}
	}
	wanted := h.cluster.workload.Expanded()
	for _, d := range wanted {
		if err := h.machine.Shared(d.Path, d.Mode, owner); err != nil {
			return "", fmt.Errorf("make %s: %w", d.Path, err)
		}
	}
	if err := h.exported(owner); err != nil {
		return "", err
	}
	images := services.ImageDir(h.cluster.file)
	if _, err := os.Stat(images); errors.Is(err, os.ErrNotExist) {
		if err := h.machine.Directory(images, 0o777|os.ModeSticky, ""); err != nil {
			return "", fmt.Errorf("make %s: %w", images, err)
		}
	}
	who := owner
	if who == "" {
		who = "root: the image's default user is not here"
	}
	return fmt.Sprintf("%s, owner %s; %s", count.Of(len(wanted), "directory"), who, images), nil
}

// exported makes the directories that muster.yaml exports, where they are missing. Homes
// are made with their users.
func (h *headNode) exported(owner string) error {
	for _, e := range h.cluster.workload.Exports {
		if _, err := os.Stat(e.Directory); !errors.Is(err, os.ErrNotExist) || strings.HasPrefix(e.Directory, "/home/") {
			continue // what else is wrong with it the export says
		}
		if err := h.machine.Shared(e.Directory, 0o775, owner); err != nil {
			return fmt.Errorf("make %s: %w", e.Directory, err)
		}
	}
	return nil
}

// headParams are params with what was found on a head node.
func (h *headNode) headParams(ctx context.Context) services.Params {
	p := h.params()
	p.MariaDB = mariadb(ctx, h.machine)
	p.NoAccounting = p.NoAccounting || h.poor != ""
	return p
}

// configure writes what the services read, and tells whether it changed.
func (h *headNode) configure(ctx context.Context) (changed bool, detail string, err error) {
	accounting, err := h.accounting(ctx)
	if err != nil {
		return false, "", err
	}
	accounting.Off = h.poor != ""
	p := h.headParams(ctx)
	c, err := h.config(p, accounting)
	if err != nil {
		return false, "", err
	}
	if c.Included, err = h.included(ctx); err != nil {
		return false, "", err
	}
	if err := h.stateDirectories(p); err != nil {
		return false, "", err
	}
	stack, _ := h.stack()
	for _, f := range services.Files(c, stack, p) {
		other, err := h.machine.Write(f.Path, f.Text, f.Mode, f.Owner)
		if err != nil {
			return false, "", err
		}
		changed = changed || other
	}
	if err := h.put(ctx, loginConfKey(h.Ticket.Cluster), []byte(c.Conf())); err != nil {
		return false, "", err
	}
	return changed, fmt.Sprintf("%s in %s, in %s", count.Of(nodesIn(c), "node"), count.Of(len(c.Partitions), "partition"), h.slurm.Conf), nil
}

// included is the text that CustomSlurmSettingsIncludeFile names.
func (h *headNode) included(ctx context.Context) (string, error) {
	url := h.cluster.file.Scheduling.Slurm.CustomFile
	if url == "" {
		return "", nil
	}
	text, err := boot.Scripts{Machine: h.machine, Fetch: h.fetch}.Text(ctx, url)
	if err != nil {
		return "", fmt.Errorf("fetch CustomSlurmSettingsIncludeFile: %w", err)
	}
	return text, nil
}

// loginConfKey is where the head node leaves slurm.conf for login nodes whose Slurm
// has no sackd.
func loginConfKey(cluster string) string { return manifest.SharedPrefix(cluster) + "slurm.conf" }

func nodesIn(c slurm.Config) int {
	n := 0
	for _, g := range c.Groups {
		n += len(g.Addresses)
	}
	return n
}

// stateDirectories are what a head node's services keep their state in.
func (h *headNode) stateDirectories(p services.Params) error {
	for _, d := range []struct {
		path, owner string
		mode        os.FileMode
	}{
		{services.StateDir, p.ControlUser, 0o700}, {"/run/mysqld", p.ControlUser, 0o755}, {"/var/lib/mysql", p.ControlUser, 0o700},
		{services.RunDir + "/rest", p.RESTUser, 0o755},
	} {
		if err := h.machine.Directory(d.path, d.mode, d.owner); err != nil {
			return fmt.Errorf("make %s: %w", d.path, err)
		}
	}
	return nil
}

func (h *headNode) start(ctx context.Context) (string, error) {
	ran := supervisor() != 0
	detail, err := h.serveAll(ctx)
	if err == nil && ran && h.rewritten {
		// An older muster wrote what they read, and was replaced with the update.
		err = h.reconfigure(ctx)
	}
	return detail, err
}

// updated runs the scripts of an update during which this program was replaced.
func (h *headNode) updated(ctx context.Context) (string, error) {
	replaced, err := h.machine.Read(replacedFile)
	if err != nil || replaced == "" {
		return "no update", err
	}
	detail, err := h.run(ctx, spec.OnNodeUpdated)
	if err != nil {
		return "", err
	}
	return detail, os.Remove(replacedFile)
}

func without(all []supervise.Service, name string) []supervise.Service {
	var kept []supervise.Service
	for _, s := range all {
		if s.Name != name {
			kept = append(kept, s)
		}
	}
	return kept
}

// restrict keeps users of the head node from its role, unless the file does not want it.
func (h *headNode) restrict(ctx context.Context) (string, error) {
	if !h.cluster.file.HeadNode.SecuredMetadata {
		return "the file lets all users ask", nil
	}
	detail, closed, err := h.machine.SecureMetadata(ctx)
	if h.exposed = ""; err == nil && !closed {
		h.exposed = "every user of the head node has its rights, to start machines among others: " + strings.TrimPrefix(detail, "blind: ")
	}
	return detail, err
}

// serviceStates are the services with whether they answer.
func (h *headNode) serviceStates() []manifest.Service {
	waiting := map[string]bool{}
	for _, s := range notReady(h.services) {
		waiting[s.Name] = true
	}
	var all []manifest.Service
	for _, s := range h.services {
		all = append(all, manifest.Service{Name: s.Name, Ready: !waiting[s.Name]})
	}
	return all
}
