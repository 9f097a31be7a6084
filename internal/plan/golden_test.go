package plan_test

import (
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// room is as large as a local cluster's network.
var room = plan.Range{First: netip.MustParseAddr("10.99.0.2"), Last: netip.MustParseAddr("10.99.255.254")}

func load(t testing.TB, path string) *spec.Cluster {
	t.Helper()
	c, problems := spec.Load(path)
	if c == nil {
		t.Fatal(problems.Err())
	}
	return c
}

func addresses(t testing.TB, c *spec.Cluster) map[string]netip.Addr {
	t.Helper()
	all, err := plan.Addresses(plan.NodeNames(c), nil, room)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// configOf is what a local cluster makes of a file.
func configOf(t testing.TB, c *spec.Cluster) slurm.Config {
	t.Helper()
	conf := plan.Config(c, &spec.Workload{}, addresses(t, c))
	conf.Cluster, conf.HeadName, conf.HeadAddress = "train", "train-head", netip.MustParseAddr("10.99.0.1")
	conf.ControlUser, conf.NodeUser = "slurm", "root"
	conf.ResumeProgram, conf.SuspendProgram, conf.JobProlog = "/opt/muster/bin/resume", "/opt/muster/bin/suspend", "/opt/muster/bin/prolog"
	conf.NodeHealth = "/opt/muster/bin/node-health"
	conf.StateDir, conf.SpoolDir, conf.GPUFile = "/var/spool/slurmctld", "/var/spool/slurmd", "/etc/slurm/gpu/gpu"
	conf.Timers, conf.CgroupPlugin = slurm.LocalTimers(), slurm.NoCgroups("22.05.8")
	return conf
}

func TestSlurm_files(t *testing.T) {
	for _, row := range []struct{ name, file string }{
		{"guide-80", "../../examples/guide-80/cluster.yaml"},
		{"mixed", "testdata/mixed/cluster.yaml"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := configOf(t, load(t, row.file))
			for name, got := range map[string]string{
				"slurm.conf": c.Conf(), "gres.conf": c.GresConf(), "cgroup.conf": c.CgroupConf(), "slurmdbd.conf": c.DBDConf(),
			} {
				golden.Check(t, filepath.Join(row.name, name), got)
			}
		})
	}
}
