package expect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
)

// tableOf is the table of a cluster of one kind of nodes with one file system.
func tableOf(instanceType string, most int) []expect.Row {
	c := &spec.Cluster{}
	c.HeadNode.InstanceType = "m5.8xlarge"
	c.Scheduling.Queues = []spec.Queue{{Name: "q", ComputeResources: []spec.ComputeResource{{Name: "r", InstanceTypes: []string{instanceType}, MaxCount: most}}}}
	c.SharedStorage = []spec.SharedStorage{{MountDir: "/fsx", Kind: spec.Lustre, Lustre: spec.LustreSettings{DeploymentType: "PERSISTENT_2", PerUnitThroughput: 250, CapacityGiB: 38400}}}
	return expect.Rows(expect.Table(c, nil, nil))
}

// What nodes come to together is in the table by their number, as it is judged by it: two nodes are not ten.
func TestTableOfNodesTogether(t *testing.T) {
	find := func(rows []expect.Row, check, on string) expect.Row {
		i := slices.IndexFunc(rows, func(r expect.Row) bool { return r.Check == check && r.On == on })
		if i < 0 {
			t.Fatalf("no %s of %s", check, on)
		}
		return rows[i]
	}
	p5 := tableOf("p5.48xlarge", 12)
	for _, row := range []struct{ check, on, want string }{
		{"all-reduce-bandwidth", "2 nodes", "437 GB/s from 1 GiB, 466 GB/s from 4 GiB, 487 GB/s from 16 GiB (measured)"},
		{"all-reduce-bandwidth", "10 nodes", "364 GB/s from 1 GiB (modelled)"},
		{"storage-write", "/fsx 1 to 12 nodes", "9.6 GB/s (the file system's Lustre PERSISTENT_2, 38400 GiB, 250 MB/s for each TiB)"},
	} {
		if got := find(p5, row.check, row.on); got.Want != row.want || got.Source == "" || got.Skip != "" {
			t.Errorf("%s of %s: %+v", row.check, row.on, got)
		}
	}
	if got := find(p5, "broadcast-bandwidth", "12 nodes"); got.Want != "" || !strings.HasPrefix(got.Skip, "nothing is published") {
		t.Errorf("%+v", got)
	}
	small := tableOf("g5.xlarge", 4)
	if got := find(small, "storage-read", "/fsx 1 node"); got.Want == find(small, "storage-read", "/fsx 4 nodes").Want || got.Want == "" {
		t.Errorf("a node takes no more than its network: %+v", got)
	}
	if got := find(tableOf("m5.8xlarge", 4), "all-reduce-bandwidth", "2 nodes"); got.Skip != "m5.8xlarge has no GPUs" {
		t.Errorf("%+v", got)
	}
	if got := find(small, "network-bandwidth", "2 nodes"); got.Want == "" || got.Source == "" {
		t.Errorf("%+v", got)
	}
}

// Of what nodes come to together, every row says what is right and where that is from, or why nothing is: for all kinds of nodes
// and any number of them.
func TestTableSaysNothingWithoutASource(t *testing.T) {
	for _, kind := range []string{"p4d.24xlarge", "p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "g5.xlarge", "g6e.48xlarge", "trn1.32xlarge", "c5.large", "nosuch.large"} {
		for _, most := range []int{0, 1, 2, 3, 10, 80} {
			for _, r := range tableOf(kind, most) {
				if !slices.Contains([]string{verify.NCCL, verify.Network, verify.Storage}, r.Suite) {
					continue
				}
				if said := r.Want != "" && r.Source != ""; said == (r.Skip != "") {
					t.Errorf("%s × %d: %+v", kind, most, r)
				}
				if r.Suite == verify.NCCL && strings.HasPrefix(r.On, "2 ") && most < 2 {
					t.Errorf("%s has %d: %+v", kind, most, r)
				}
			}
		}
	}
}
