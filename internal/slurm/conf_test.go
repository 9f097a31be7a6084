package slurm

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestAddressList(t *testing.T) {
	run := func(first string, n int) []netip.Addr {
		all := make([]netip.Addr, n)
		for i, a := 0, netip.MustParseAddr(first); i < n; i, a = i+1, a.Next() {
			all[i] = a
		}
		return all
	}
	for _, row := range []struct {
		name      string
		addresses []netip.Addr
		want      string
	}{
		{"none", nil, ""},
		{"one", run("10.99.0.2", 1), "10.99.0.2"},
		{"run", run("10.99.0.2", 80), "10.99.0.[2-81]"},
		{"over_an_edge", run("10.99.0.254", 4), "10.99.0.[254-255],10.99.1.[0-1]"},
		{"up_to_an_edge", run("10.99.0.254", 2), "10.99.0.[254-255]"},
		{"one_over_an_edge", run("10.99.0.255", 2), "10.99.0.255,10.99.1.0"},
		{"over_two_edges", run("10.99.0.255", 258), "10.99.0.255,10.99.1.[0-255],10.99.2.0"},
		{"gap", append(run("10.99.0.2", 2), run("10.99.0.9", 1)...), "10.99.0.[2-3],10.99.0.9"},
		{"backwards", []netip.Addr{netip.MustParseAddr("10.99.0.3"), netip.MustParseAddr("10.99.0.2")}, "10.99.0.3,10.99.0.2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := addressList(row.addresses)
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			// Slurm reads it as a host list, in this order.
			names, err := Expand(got)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, a := range row.addresses {
				want = append(want, a.String())
			}
			if !slices.Equal(names, want) {
				t.Errorf("it is read as %s", strings.Join(names, " "))
			}
		})
	}
}

func TestConf_joins_features(t *testing.T) {
	g := NodeGroup{
		Resource: Resource{"q", "r"}, Static: true, Features: []string{"static", "c5.large"}, Addresses: make([]netip.Addr, 2),
		Custom: []Setting{{Key: "Weight", Value: "7"}, {Key: "Features", Value: "fast,near"}},
	}
	if got := g.line(); !strings.Contains(got, " Feature=static,c5.large,fast,near ") || strings.Contains(got, "Features=") || !strings.HasSuffix(got, " Weight=7") {
		t.Error(got)
	}
	g.Weight, g.Custom = 30, nil
	if got := g.line(); !strings.Contains(got, " Weight=30") {
		t.Error(got)
	}
	if len(g.Features) != 2 {
		t.Errorf("the group's own features are %v", g.Features)
	}
}

// TestConf_never_idle has power saving, or no node would start either.
func TestConf_never_idle(t *testing.T) {
	for seconds, want := range map[int]string{-1: "SuspendTime=315360000\n", 0: "SuspendTime=0\n", 60: "SuspendTime=60\n"} {
		c := Config{Cluster: "demo", IdleSeconds: seconds, ResumeProgram: "/resume"}
		if got := c.Conf(); !strings.Contains(got, want) {
			t.Errorf("%d: no %q in:\n%s", seconds, want, got)
		}
	}
}

func TestDatabase_that_Slurm_cannot_read(t *testing.T) {
	for password, ok := range map[string]bool{"": true, "s3cret!$&": true, "s3#cret": false, "#": false} {
		if why := (Database{Password: password}).Unreadable(); (why == "") != ok {
			t.Errorf("%q: %q", password, why)
		}
	}
}

func TestNoCgroups(t *testing.T) {
	for version, want := range map[string]string{
		"22.05.8": "cgroup/v1", "23.02.1": "cgroup/v1", "23.11.4": "disabled", "24.05": "disabled", "25.11.0": "disabled", "unknown": "cgroup/v1",
	} {
		if got := NoCgroups(version); got != want {
			t.Errorf("%s: got %q, want %q", version, got, want)
		}
	}
}

func TestConf_of_a_cloud(t *testing.T) {
	c := Config{
		Cluster: "train", HeadName: "train-head", HeadAddress: netip.MustParseAddr("10.0.0.5"), ControlUser: "slurm", NodeUser: "root",
		Configless: true, Confine: true, CgroupPlugin: "autodetect", GPUFile: "/dev/nvidia", NodeProlog: "/opt/muster/bin/node-prolog", NodeEpilog: "/opt/muster/bin/node-epilog",
		Timers: CloudTimers(1800), Included: "PriorityType=priority/multifactor\n",
		Groups:     []NodeGroup{{Resource: Resource{"gpu", "p5"}, Addresses: make([]netip.Addr, 2), CPUs: 192, MemoryMiB: 1000, GPU: "h200", GPUs: 8, Features: []string{"dynamic"}}},
		Accounting: Accounting{Database: Database{Host: "db.example.com", Port: 3306, User: "ada", Password: "secret", Name: "train"}},
	}
	conf := c.Conf()
	for _, want := range []string{
		"\nNodeName=gpu-dy-p5-[1-2] CPUs=192 ", "\nSlurmctldParameters=idle_on_node_suspend,enable_configless,power_save_interval=2\n",
		"\nProctrackType=proctrack/cgroup\n", "\nTaskPlugin=task/affinity,task/cgroup\n", "\nJobAcctGatherType=jobacct_gather/cgroup\n",
		"\nProlog=/opt/muster/bin/node-prolog\nPrologFlags=Alloc\nEpilog=/opt/muster/bin/node-epilog\n", "\nResumeTimeout=1800\n", "\nPropagateResourceLimitsExcept=MEMLOCK,NOFILE\n",
		"\nPriorityType=priority/multifactor\nNodeName=", "\nAccountingStorageHost=train-head\n", ",nohold_on_prolog_fail\n", "\nEnforcePartLimits=ALL\n", "\nUnkillableStepTimeout=300\n",
	} {
		if !strings.Contains(conf, want) {
			t.Errorf("slurm.conf has no %q:\n%s", want, conf)
		}
	}
	if strings.Contains(conf, "NodeAddr") || strings.Contains(conf, "secret") {
		t.Errorf("slurm.conf has addresses that nobody knows, or a password:\n%s", conf)
	}
	if want := "StorageHost=db.example.com\nStoragePort=3306\nStorageUser=ada\nStoragePass=secret\nStorageLoc=train\n"; !strings.Contains(c.DBDConf(), want) {
		t.Errorf("slurmdbd.conf has no\n%s\n%s", want, c.DBDConf())
	}
	if want := "Name=gpu Type=h200 File=/dev/nvidia[0-7]\n"; !strings.Contains(c.GresConf(), want) {
		t.Errorf("gres.conf has no %q:\n%s", want, c.GresConf())
	}
	if want := "CgroupPlugin=autodetect\nConstrainCores=yes\n"; !strings.Contains(c.CgroupConf(), want) {
		t.Errorf("cgroup.conf has no %q", want)
	}
	c.Custom = []Setting{{Key: "enforcepartlimits", Value: "NO"}}
	if conf := c.Conf(); strings.Contains(conf, "EnforcePartLimits=ALL") || !strings.Contains(conf, "enforcepartlimits=NO") {
		t.Errorf("the user's own EnforcePartLimits:\n%s", conf)
	}
	c.Accounting = Accounting{Host: "dbd.example.com", Port: 6819}
	if conf := c.Conf(); !strings.Contains(conf, "\nAccountingStorageHost=dbd.example.com\nAccountingStoragePort=6819\n") {
		t.Errorf("an external slurmdbd:\n%s", conf)
	}
	c.Accounting = Accounting{Off: true}
	if conf := c.Conf(); !strings.Contains(conf, "\nAccountingStorageType=accounting_storage/none\n") || strings.Contains(conf, "AccountingStorageHost") {
		t.Errorf("no accounting:\n%s", conf)
	}
}

// A user's own health check takes the place of muster's, and his times hold.
func TestHealthCheckOfTheUser(t *testing.T) {
	lines := func(custom ...Setting) string {
		c := Config{NodeHealth: "/opt/muster/bin/node-health", Custom: custom}
		var found []string
		for line := range strings.Lines(c.Conf()) {
			if strings.HasPrefix(line, "HealthCheck") {
				found = append(found, strings.TrimSpace(line))
			}
		}
		return strings.Join(found, " ")
	}
	for want, custom := range map[string][]Setting{
		"HealthCheckProgram=/opt/muster/bin/node-health HealthCheckInterval=300 HealthCheckNodeState=IDLE,CYCLE": nil,
		"HealthCheckProgram=/opt/muster/bin/node-health HealthCheckNodeState=IDLE,CYCLE HealthCheckInterval=60":  {{Key: "HealthCheckInterval", Value: "60"}},
		"HealthCheckProgram=/mine": {{Key: "HealthCheckProgram", Value: "/mine"}},
	} {
		if got := lines(custom...); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
