package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/slurm/spank"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
)

// params say how this machine's services are run.
func (a *agent) params() services.Params {
	setpriv := a.machine.Find("setpriv")
	p := services.Params{
		LogDir: LogDir, Address: a.identity.Address, Slurm: a.slurm, Region: a.Ticket.Region,
		ControlUser: "slurm", MungeUser: "munge", RESTUser: "daemon",
		Become: func(user string) []string {
			return []string{setpriv, "--reuid=" + user, "--regid=" + user, "--init-groups", "--"}
		},
	}
	if a.cluster != nil {
		settings := a.cluster.file.Scheduling.Slurm
		p.Database, p.NoAccounting = settings.Database != nil, settings.ExternalSlurmdbd != nil
	}
	return p
}

// headName is the head node's host name, by which slurmctld knows itself.
func headName(cluster string) string { return strings.ToLower(cluster) + "-head" }

// config is the cluster's configuration of Slurm.
func (a *agent) config(p services.Params, accounting slurm.Accounting) (slurm.Config, error) {
	c := services.Place(plan.Config(a.cluster.file, a.cluster.workload, nil), p)
	version, err := slurm.Version(a.slurm.Sbin + "/slurmd")
	if err != nil {
		return c, err
	}
	name := a.Ticket.Cluster
	c.Cluster, c.HeadName, c.NodeUser = strings.ToLower(name), headName(name), "root"
	c.Configless, c.GPUFile, c.PlugStack = true, "/dev/nvidia", ""
	c.NodeProlog, c.NodeEpilog, c.NodeHealth, c.Accounting = services.NodeProlog, boot.NodeEpilog, services.NodeHealth, accounting
	c.Timers = slurm.CloudTimers(int(a.cluster.file.Timeouts.ComputeNode.Seconds())).BurningIn(a.cluster.workload.BurnInLimit(), spec.BurnInEnds)
	if a.cluster.healthChecks() {
		c.Timers.BatchStart = 900 // DCGM's diagnosis runs before a job's first step
	}
	// Control groups need systemd to share them out, and some machines have none.
	c.Confine = a.machine.Systemd()
	c.CgroupPlugin = "autodetect"
	if !c.Confine {
		c.CgroupPlugin = slurm.NoCgroups(version)
	}
	return c, nil
}

// healthChecks tells whether the file asks for GPU checks anywhere.
func (c *cluster) healthChecks() bool {
	return slices.ContainsFunc(c.file.Scheduling.Queues, func(q spec.Queue) bool {
		return slices.ContainsFunc(q.ComputeResources, func(r spec.ComputeResource) bool { return r.CheckGPUs })
	})
}

// accounting is where jobs are accounted for, as the file has it.
func (a *agent) accounting(ctx context.Context) (slurm.Accounting, error) {
	settings := a.cluster.file.Scheduling.Slurm
	if external := settings.ExternalSlurmdbd; external != nil {
		return slurm.Accounting{Host: external.Host, Port: external.Port}, nil
	}
	db := settings.Database
	if db == nil {
		return slurm.Accounting{}, nil
	}
	d := slurm.Database{Host: db.URI, Port: 3306, User: db.UserName, Name: db.Name}
	if host, port, err := net.SplitHostPort(d.Host); err == nil {
		d.Host = host
		if d.Port, err = strconv.Atoi(port); err != nil {
			return slurm.Accounting{}, fmt.Errorf("read Database/Uri: the port of %s is no number", db.URI)
		}
	}
	if d.Name == "" { // as ParallelCluster calls it
		d.Name = strings.ReplaceAll(strings.ToLower(a.Ticket.Cluster), "-", "_")
	}
	var err error
	d.Password, err = a.secret(ctx, db.PasswordSecretARN)
	return slurm.Accounting{Database: d}, err
}

// stack is Slurm's plugin for containers, and where it comes from: muster's own, unless
// the image or a custom action has set Pyxis up.
func (a *agent) stack() (spank.Stack, string) {
	if pyxis, ok := spank.Configured(a.slurm.Conf, spank.EnrootConf); ok {
		return pyxis, "Pyxis, " + pyxis.Plugin
	}
	return spank.Own(services.Spank, services.Muster), "muster's own plugin"
}

// pluginKey is where the head node leaves the plugin that it built, so that its nodes
// need no compiler.
func (a *agent) pluginKey(version string) string {
	return manifest.SharedPrefix(a.Ticket.Cluster) + spank.Packaged(version)
}

// rotation keeps the logs from filling the disk. Their writers go on with the
// same file.
const rotation = LogDir + `/*.log ` + LogDir + `/actions/*.log {
	weekly
	maxsize 100M
	rotate 8
	compress
	copytruncate
	missingok
	notifempty
}
`

// containers makes what steps in containers need.
func (a *agent) containers(ctx context.Context) (string, error) {
	dir := services.ImageDir(a.cluster.file)
	files := map[string]string{services.ClusterFile: string(a.cluster.source), services.ImagesFile: dir + "\n", services.SiteFile: string(a.cluster.siteText),
		services.WorkloadFile:       string(a.cluster.workloadText),
		"/etc/profile.d/muster.sh":  "export PATH=$PATH:" + a.slurm.Bin + ":" + services.BinDir + "\n",
		"/etc/profile.d/muster.csh": "setenv PATH ${PATH}:" + a.slurm.Bin + ":" + services.BinDir + "\n"}
	if a.cluster.file.Monitoring.LogRotation {
		files["/etc/logrotate.d/muster"] = rotation
	}
	for name, text := range files {
		if _, err := a.machine.Write(name, text, 0o644, ""); err != nil {
			return "", err
		}
	}
	stack, by := a.stack()
	if stack.Plugin == services.Spank {
		if err := a.plugin(ctx); err != nil {
			return "", err
		}
	}
	detail := "srun --container-image is done by " + by + "; images in " + dir
	if stack.Plugin == services.Spank {
		opened, err := a.machine.OpenNamespaces(ctx)
		return detail + opened + a.machine.ShowGPUs(ctx), err
	}
	return detail, nil
}

func (a *agent) plugin(ctx context.Context) error {
	version, err := slurm.Version(a.slurm.Sbin + "/slurmd")
	if err != nil {
		return err
	}
	packaged := services.BinDir + "/" + spank.Packaged(version)
	if a.Ticket.Role != manifest.RoleHead {
		if data, err := a.object(ctx, a.pluginKey(version)); err == nil {
			if _, err := a.machine.Write(packaged, string(data), 0o755, ""); err != nil {
				return err
			}
		} else if spank.Pyxis() != "" && errors.Is(err, store.ErrNotFound) {
			return nil // Pyxis is set up on the head node
		} else {
			a.Log.Info("the head node left no plugin for containers, it is built here", "reason", err)
		}
	}
	if err := spank.Install(ctx, services.Spank, packaged, version); err != nil {
		return err
	}
	if a.Ticket.Role != manifest.RoleHead {
		return nil
	}
	data, err := os.ReadFile(services.Spank)
	if err != nil {
		return err
	}
	return a.put(ctx, a.pluginKey(version), data)
}
