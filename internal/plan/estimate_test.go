package plan_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/spec"
)

// ask reads a cluster file and a muster.yaml, which may be empty.
func ask(t testing.TB, cluster, workload string) plan.Question {
	t.Helper()
	f := spec.OpenText("cluster.yaml", []byte(cluster), spec.Options{})
	if f.Cluster == nil {
		t.Fatal(f.Problems.Err())
	}
	q := plan.Question{Cluster: f.Cluster, Workload: &spec.Workload{}}
	if workload != "" {
		var problems *diag.List
		if q.Workload, problems = spec.ParseWorkload("muster.yaml", []byte(workload), f.Cluster); q.Workload == nil {
			t.Fatal(problems.Err())
		}
	}
	return q
}

// answer is an estimate that must be possible.
func answer(t testing.TB, q plan.Question) *plan.Estimate {
	t.Helper()
	e, err := plan.New(q)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func guide(t testing.TB) plan.Question {
	t.Helper()
	var texts [2]string
	for i, name := range []string{"cluster.yaml", "muster.yaml"} {
		data, err := os.ReadFile(filepath.Join("../../examples/guide-80", name))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(data)
	}
	return ask(t, texts[0], texts[1])
}

// head is a cluster file up to its queues.
const head = "Region: us-east-1\nImage: {Os: alinux2023}\nHeadNode: {InstanceType: c6i.xlarge}\nScheduling:\n  Scheduler: slurm\n  SlurmQueues:\n"

// queue is a cluster file with one queue of one compute resource.
func queue(resource string) string {
	return head + "    - {Name: q, ComputeResources: [{Name: r, " + resource + "}]}\n"
}

// TestNew_has_the_figures_of_the_guide holds what the guide reckons by hand: 80 x
// p5e.48xlarge are 640 GPUs, 15,360 vCPUs, 160 TB (2 TB each; they are binary)
// and $2,768 an hour at $34.60; six models of 11 nodes and one of 14 are 80.
func TestNew_has_the_figures_of_the_guide(t *testing.T) {
	q := guide(t)
	q.Prices = map[string]float64{"p5e.48xlarge": 34.60}
	e := answer(t, q)
	full := e.Fleet.Full
	if full.Nodes != 80 || full.GPUCount() != 640 || full.VCPUs != 15360 || full.MemoryMiB != 160<<20 || full.EFAGbps != 256000 {
		t.Errorf("got %+v", full)
	}
	if full.GPUs[0].GPU != "h200" || e.Fleet.Least.Nodes != 0 {
		t.Errorf("got %+v, at least %+v", full.GPUs, e.Fleet.Least)
	}
	nodes := e.Price.Nodes
	if nodes.Hour.USD != 2768 || nodes.Day.USD != 66432 || nodes.Run.USD != 930048 || len(nodes.Hour.Missing) > 0 {
		t.Errorf("got %+v, %+v", nodes, nodes.Run)
	}
	var sizes []int
	sum := 0
	for _, m := range e.Models {
		sizes, sum = append(sizes, m.Nodes), sum+m.Nodes
	}
	if sum != 80 || len(sizes) != 7 || sizes[0] != 11 || sizes[6] != 14 || e.Spare[0].Nodes != 0 {
		t.Errorf("models of %v nodes, %d in all, %+v left over", sizes, sum, e.Spare)
	}
	if got, want := e.Models[6].NodeList, "gpu-queue-dy-p5e-nodes-[67-80]"; got != want {
		t.Errorf("model7 has %s, want %s", got, want)
	}
	if b := e.Blocks[0]; len(b.Sizes) != 2 || b.Sizes[0] != 64 || b.Sizes[1] != 16 || b.Days() != 14 || b.Upfront.USD != 930048 {
		t.Errorf("got %+v", b)
	}
}

// TestNew_never_takes_an_unknown_price_for_nothing holds it for hour, day and run.
func TestNew_never_takes_an_unknown_price_for_nothing(t *testing.T) {
	e := answer(t, guide(t))
	for _, c := range []plan.Cost{e.Price.Nodes.Hour, e.Price.Nodes.Day, *e.Price.Nodes.Run, e.Price.All.Hour, *e.Price.All.Run} {
		if len(c.Missing) != 1 || c.Missing[0] != "80 × p5e.48xlarge" {
			t.Errorf("got %+v", c)
		}
	}
	if len(e.Price.LeastNodes.Hour.Missing) > 0 {
		t.Errorf("no node is always on, but %v is missing", e.Price.LeastNodes.Hour.Missing)
	}
	for _, p := range e.Price.Types {
		if p.Known == (p.Reason != "") || p.Known != (p.USDPerHour > 0) || p.Known && p.Date == "" {
			t.Errorf("got %+v", p)
		}
	}
}

func TestNew_prices(t *testing.T) {
	const many = "Instances: [{InstanceType: c6i.4xlarge}, {InstanceType: m6i.4xlarge}], MaxCount: 2"
	for _, row := range []struct {
		name, file string
		prices     map[string]float64
		usd        float64
		missing    string
	}{
		{"on_demand", queue("InstanceType: p5.48xlarge, MaxCount: 2"), nil, 110.08, ""},
		{"the_users_own", queue("InstanceType: p5.48xlarge, MaxCount: 2"), map[string]float64{"p5.48xlarge": 30}, 60, ""},
		{"the_dearest_of_several", queue(many), nil, 1.536, ""},
		{"one_of_several_unknown", queue("Instances: [{InstanceType: p5.48xlarge}, {InstanceType: p5e.48xlarge}], MaxCount: 3"), nil, 0, "3 × p5e.48xlarge"},
		{"spot", strings.Replace(queue("InstanceType: c6i.large, MaxCount: 2"), "Name: q,", "Name: q, CapacityType: SPOT,", 1), nil, 0, "2 × c6i.large"},
		{"spot_of_the_user", strings.Replace(queue("InstanceType: c6i.large, MaxCount: 2"), "Name: q,", "Name: q, CapacityType: SPOT,", 1),
			map[string]float64{"c6i.large": 0.03}, 0.06, ""},
		{"not_in_the_list", queue("InstanceType: u-9tb1.112xlarge, MaxCount: 1"), nil, 81.9, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := ask(t, row.file, "")
			q.Prices = row.prices
			got := answer(t, q).Price.Nodes.Hour
			if math.Abs(got.USD-row.usd) > 1e-9 || strings.Join(got.Missing, " ") != row.missing {
				t.Errorf("got %+v, want %v, missing %q", got, row.usd, row.missing)
			}
		})
	}
}

func TestNew_storage(t *testing.T) {
	file := queue("InstanceType: c6i.large, MaxCount: 1") + "SharedStorage:\n"
	for _, row := range []struct {
		name, storage string
		usd           float64
		mbps          float64
		missing       bool
	}{
		{"lustre", "{MountDir: /x, Name: x, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 7200, DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 1000}}", 4320, 7200, false},
		{"scratch", "{MountDir: /x, Name: x, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 1200}}", 168, 240, false},
		{"lustre_without_a_price", "{MountDir: /x, Name: x, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 1200, DeploymentType: PERSISTENT_1, PerUnitStorageThroughput: 50}}", 0, 60, true},
		{"lustre_that_exists", "{MountDir: /x, Name: x, StorageType: FsxLustre, FsxLustreSettings: {FileSystemId: fs-0123456789abcdef0}}", 0, 0, false},
		{"efs", "{MountDir: /x, Name: x, StorageType: Efs}", 0, 0, true},
		{"efs_provisioned", "{MountDir: /x, Name: x, StorageType: Efs, EfsSettings: {ThroughputMode: provisioned, ProvisionedThroughput: 100}}", 600, 100, true},
		{"ebs", "{MountDir: /x, Name: x, StorageType: Ebs}", 3.2, 125, false},
		{"ebs_faster", "{MountDir: /x, Name: x, StorageType: Ebs, EbsSettings: {Size: 500, Iops: 4000, Throughput: 250}}", 50, 250, false},
		{"ebs_raid", "{MountDir: /x, Name: x, StorageType: Ebs, EbsSettings: {Size: 100, Raid: {Type: 0, NumberOfVolumes: 2}}}", 16, 250, false},
		{"ebs_provisioned", "{MountDir: /x, Name: x, StorageType: Ebs, EbsSettings: {VolumeType: io2, Size: 100, Iops: 1000}}", 77.5, 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := answer(t, ask(t, file+"  - "+row.storage+"\n", "")).FileSystems[0]
			if math.Abs(f.Month.USD-row.usd) > 1e-9 || f.ThroughputMBps != row.mbps || (len(f.Month.Missing) > 0) != row.missing {
				t.Errorf("got %+v", f)
			}
			if (f.Date == "") != (f.Source == "") || f.Date == "" && f.Reason == "" {
				t.Errorf("nobody says why the price is not known: %+v", f)
			}
		})
	}
}

func TestNew_capacity_blocks(t *testing.T) {
	const block = head + "    - {Name: q, CapacityType: CAPACITY_BLOCK, ComputeResources: [{Name: r, InstanceType: p5.48xlarge, MinCount: 10, MaxCount: 10, " +
		"CapacityReservationTarget: {CapacityReservationId: cr-0123456789abcdef0}}]}\n"
	for days, want := range map[float64][]int{0.1: {1}, 1: {1}, 10: {10}, 14: {14}, 15: {21}, 182: {182}, 183: {182, 1}, 200: {182, 21}, 400: {182, 182, 42}} {
		q := ask(t, block, "")
		q.RunHours = 24 * days
		b := answer(t, q).Blocks[0]
		if !slices.Equal(b.LengthsDays, want) || !b.Asked || b.UsableHours != float64(24*b.Days())-0.5*float64(len(want)) {
			t.Errorf("%v days: got %+v, want %d days", days, b, want)
		}
	}
	if e := answer(t, ask(t, block, "")); len(e.Blocks) != 1 || e.Blocks[0].Days() != 0 {
		t.Errorf("without a run: %+v", e.Blocks)
	}
	if e := answer(t, ask(t, queue("InstanceType: p5.48xlarge, MaxCount: 2"), "")); len(e.Blocks) != 0 {
		t.Errorf("on demand: %+v", e.Blocks)
	}
}

func TestNew_says_what_does_not_fit(t *testing.T) {
	for _, row := range []struct{ name, resource, models, want string }{
		{"too_many_nodes", "InstanceType: p5.48xlarge, MaxCount: 4", "[{Name: a, Nodes: 3}, {Name: b, Nodes: 2}]",
			"the models of queue q ask for 5 nodes, 1 more than its 4"},
		{"parts", "InstanceType: p5.48xlarge, MaxCount: 1", "[{Name: a, GPUs: 5}, {Name: b, GPUs: 4}]",
			"the models on parts of nodes (5, 4 GPUs) do not fit on the 1 node that queue q has left"},
	} {
		if _, err := plan.New(ask(t, queue(row.resource), "Models: "+row.models)); err == nil || err.Error() != row.want {
			t.Errorf("%s: got %v, want %s", row.name, err, row.want)
		}
	}
	two := head + "    - Name: q\n      ComputeResources: [{Name: a, InstanceType: p5.48xlarge, MaxCount: 3}, {Name: b, InstanceType: g6.48xlarge, MaxCount: 3}]\n"
	_, err := plan.New(ask(t, two, "Models: [{Name: m, Nodes: 4}]"))
	if want := "m asks for 4 nodes with the same instance type, and queue q does not have as many left"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNew_divides(t *testing.T) {
	two := head + "    - Name: cpu\n      ComputeResources: [{Name: c, InstanceType: c6i.large, MaxCount: 2}]\n" +
		"    - Name: gpu\n      ComputeResources: [{Name: a, InstanceType: p5.48xlarge, MinCount: 2, MaxCount: 5}, {Name: b, InstanceType: g6.48xlarge, MaxCount: 3}]\n"
	e := answer(t, ask(t, two, `
Models:
  - {Name: small, GPUs: 4}
  - {Name: first, Nodes: 3}
  - {Name: other, GPUs: 4}
  - {Name: wide, Nodes: 3}
  - {Name: rest, GPUs: 6}
  - {Name: cores, Nodes: 1, Queue: cpu}
`))
	want := []string{"gpu-dy-a-3 0+4", "gpu-st-a-[1-2],gpu-dy-a-1 0+24", "gpu-dy-a-3 4+4", "gpu-dy-b-[1-3] 0+24", "gpu-dy-a-2 0+6", "cpu-dy-c-1 0+0"}
	for i, m := range e.Models {
		if got := fmt.Sprintf("%s %d+%d", m.NodeList, m.FirstGPU, m.GPUs); got != want[i] {
			t.Errorf("%s: got %s, want %s", m.Name, got, want[i])
		}
	}
	if s := e.Spare; s[0].NodeList != "cpu-dy-c-2" || s[1].Nodes != 0 || s[1].PartGPUs != 2 {
		t.Errorf("left over: %+v", s)
	}
}

// TestNew_tries_another_order holds that models which do not fit in the file's
// order do if the largest comes first.
func TestNew_tries_another_order(t *testing.T) {
	two := head + "    - Name: q\n      ComputeResources: [{Name: a, InstanceType: p5.48xlarge, MaxCount: 10}, {Name: b, InstanceType: p4d.24xlarge, MaxCount: 8}]\n"
	e := answer(t, ask(t, two, "Models: [{Name: x, Nodes: 8}, {Name: y, Nodes: 10}]"))
	if e.Models[0].NodeList != "q-dy-b-[1-8]" || e.Models[1].NodeList != "q-dy-a-[1-10]" {
		t.Errorf("got %s and %s", e.Models[0].NodeList, e.Models[1].NodeList)
	}
}

func TestNew_gives_jobs_of_an_exclusive_queue_a_node_each(t *testing.T) {
	file := head + "    - Name: q\n      JobExclusiveAllocation: true\n      ComputeResources: [{Name: r, InstanceType: p5.48xlarge, MaxCount: 2}]\n"
	e := answer(t, ask(t, file, "Models: [{Name: a, GPUs: 2}, {Name: b, GPUs: 2}]"))
	if e.Models[0].NodeList == e.Models[1].NodeList {
		t.Errorf("both have %s", e.Models[0].NodeList)
	}
	if _, err := plan.New(ask(t, file, "Models: [{Name: a, GPUs: 2}, {Name: b, GPUs: 2}, {Name: c, GPUs: 2}]")); err == nil {
		t.Error("three jobs fit on two nodes")
	}
}
