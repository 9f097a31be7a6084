package expect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
)

// production is the file of a cluster of two kinds of nodes, with a head node without GPUs.
const production = `
Region: us-east-2
Image: {Os: ubuntu2204}
HeadNode:
  InstanceType: m5.8xlarge
  Networking: {SubnetId: subnet-0123456789abcdef0}
LoginNodes:
  Pools:
    - {Name: people, InstanceType: m5.xlarge, Count: 2, Networking: {SubnetIds: [subnet-0123456789abcdef0]}}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: gpu
      CapacityType: CAPACITY_BLOCK
      CapacityReservationTarget: {CapacityReservationId: cr-0123456789abcdef0}
      Networking: {SubnetIds: [subnet-0123456789abcdef0], PlacementGroup: {Enabled: false}}
      ComputeResources:
        - {Name: p5, InstanceType: p5.48xlarge, MinCount: 2, MaxCount: 2, Efa: {Enabled: true}}
    - Name: cpu
      Networking: {SubnetIds: [subnet-0123456789abcdef0]}
      ComputeResources:
        - {Name: c6, InstanceType: c6i.4xlarge, MinCount: 0, MaxCount: 4, DisableSimultaneousMultithreading: true}
SharedStorage:
  - {Name: fsx, MountDir: /fsx, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 14400, DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 250}}
  - {Name: tools, MountDir: /tools, StorageType: Ebs, EbsSettings: {Size: 500}}
`

func cluster(t *testing.T) *spec.Cluster {
	t.Helper()
	c, list := spec.Parse("cluster.yaml", []byte(production))
	if c == nil {
		t.Fatal(list)
	}
	return c
}

func find(t *testing.T, n expect.Node, check, on string) expect.Expectation {
	t.Helper()
	i := slices.IndexFunc(n.All, func(e expect.Expectation) bool { return e.Check == check && (on == "" || e.On == on) })
	if i < 0 {
		t.Fatalf("%s has no %s %s", n.Name, check, on)
	}
	return n.All[i]
}

func TestTable(t *testing.T) {
	all := expect.Table(cluster(t), nil, nil)
	var names []string
	for _, n := range all {
		names = append(names, n.Name)
	}
	if want := []string{"head", "people", "gpu/p5", "cpu/c6"}; !slices.Equal(names, want) {
		t.Fatalf("got %v, want %v", names, want)
	}
	for _, c := range []struct {
		node            int
		check, on, want string
		skip            string
	}{
		{0, "gpu-count", "", "no GPU", ""},
		{0, "gpu-driver", "", "", "a head node needs no GPU, and m5.8xlarge has none"},
		{0, "efa-devices", "", "", "EFA is for compute nodes"},
		{0, "mount", "/tools", "EBS is mounted", ""},
		{1, "scratch", "/scratch", "", "login nodes have no scratch directory"},
		{2, "gpu-count", "", "8 GPUs", ""},
		{2, "gpu-nvlinks", "", "18 NVLinks up of each GPU", ""},
		{2, "gpu-pcie-gen", "", "gen 5", ""},
		{2, "efa-devices", "", "32 EFA devices", ""},
		{2, "cpus", "", "192 CPUs", ""},
		{2, "mount", "/fsx", "Lustre is mounted", ""},
		{3, "cpus", "", "8 CPUs", ""},
		{3, "efa-devices", "", "", "c6i.4xlarge has no EFA"},
		{3, "scratch", "/scratch", "", "c6i.4xlarge has no disks of its own"},
	} {
		e := find(t, all[c.node], c.check, c.on)
		if c.want != "" && e.Want != c.want || !strings.HasPrefix(e.Skip, c.skip) || c.skip == "" && e.Skip != "" {
			t.Errorf("%s %s: %q, skip %q", all[c.node].Name, c.check, e.Want, e.Skip)
		}
	}
}

// TestScratch holds that disks sold as 30.72 TB are right as a file system shows them, and seven of the eight are not.
func TestScratch(t *testing.T) {
	e := find(t, expect.Table(cluster(t), nil, nil)[2], "scratch", "")
	const tib = 1 << 40
	if !e.Must.Holds(27*tib) || e.Must.Holds(7*3.84e12) {
		t.Errorf("%+v", e)
	}
}

// TestSources: there is no expectation without a source, for any instance type and role; and each check has one meaning in a suite.
func TestSources(t *testing.T) {
	for _, kind := range append(catalog.Names(), "", "x99.odd") {
		for _, role := range []expect.Role{expect.Head, expect.Login, expect.Compute} {
			for _, rehearsal := range []bool{false, true} {
				seen := map[string]bool{}
				for _, e := range expect.Expected(expect.Subject{Role: role, Type: kind, Rehearsal: rehearsal}).All {
					if key := e.Check + e.On; seen[key] {
						t.Errorf("%s is there twice", key)
					} else {
						seen[key] = true
					}
					if e.Skip == "" && (e.Source == "" || e.Want == "" || !slices.Contains(verify.Suites(), e.Suite)) {
						t.Errorf("%s as %s: %+v", kind, role, e)
					}
					for _, b := range e.Bands {
						if b.Source == "" || b.Why == "" || b.Verdict != verify.Fail && b.Verdict != verify.Warn {
							t.Errorf("%s as %s: %+v", kind, role, b)
						}
					}
				}
			}
		}
	}
}

func TestOverride(t *testing.T) {
	var all []expect.Override
	for _, text := range []string{"driver=550.1", "gpus=7", "mount-free@/fsx=5", "efa-hugepages=skip", "clock=120"} {
		o, known, err := expect.ParseOverride(text)
		if err != nil || !known {
			t.Fatal(text, known, err)
		}
		all = append(all, o)
	}
	n := expect.Table(cluster(t), nil, all)[2]
	if e := find(t, n, "gpu-driver", ""); e.Want != "550.1 or newer" || len(e.Bands) != 1 || e.Source != "--want driver=550.1" {
		t.Errorf("%+v", e)
	}
	if e := find(t, n, "gpu-count", ""); e.Want != "7" || e.Must.Holds(8) || !e.Must.Holds(7) {
		t.Errorf("%+v", e)
	}
	if e := find(t, n, "mount-free", "/fsx"); e.Must.Holds(4) || !e.Must.Holds(5) || e.Want != "5 or more" {
		t.Errorf("%+v", e)
	}
	if e := find(t, n, "mount-free", "/"); e.Source == "--want mount-free=5" || e.Must.Holds(1) || !e.Must.Holds(3) {
		t.Errorf("%+v", e)
	}
	if e := find(t, n, "clock", ""); e.Must.Holds(121) || !e.Must.Holds(1) || e.Want != "120 at the most" {
		t.Errorf("%+v", e)
	}
	if e := find(t, n, "efa-hugepages", ""); e.Skip == "" {
		t.Errorf("%+v", e)
	}
	if _, _, err := expect.ParseOverride("driver"); err == nil {
		t.Error("no value")
	}
	if _, known, err := expect.ParseOverride("busbw=300"); known || err != nil {
		t.Error("of another suite", err)
	}
}
