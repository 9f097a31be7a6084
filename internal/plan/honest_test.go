package plan_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/plan"
)

// kinds is a queue with nodes of three kinds.
const kinds = head + `    - Name: q
      ComputeResources:
        - {Name: p5, InstanceType: p5.48xlarge, MaxCount: 11, DisableSimultaneousMultithreading: true}
        - {Name: c, InstanceType: c6i.large, MaxCount: 10}
        - {Name: trn, InstanceType: trn2.48xlarge, MaxCount: 3}
        - {Name: mix, Instances: [{InstanceType: p5.48xlarge}, {InstanceType: p5en.48xlarge}], MaxCount: 1}
        - {Name: hpc, InstanceType: hpc6id.32xlarge, MaxCount: 1, Efa: {Enabled: true}}
`

func TestNew_counts_what_there_is(t *testing.T) {
	e := answer(t, ask(t, kinds, ""))
	if got := e.Fleet.Full.GPUCount(); got != 96 {
		t.Errorf("%d GPUs, want 96 without the Trainium chips", got)
	}
	if got, want := e.Fleet.Groups[0].Node.VCPUs, 96; got != want {
		t.Errorf("%d vCPUs with one thread for each core, want %d", got, want)
	}
	var names []string
	for _, g := range e.Fleet.Full.GPUs {
		names = append(names, fmt.Sprintf("%d %s %v", g.Count, g.GPU, g.Accelerator))
	}
	if diff := cmp.Diff([]string{"88 h100 false", "48 trainium2 true", "8 h100 or h200 false"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := e.Fleet.Groups[1].Node; !c.DisksKnown || c.ScratchGB != 0 || !c.EFAKnown() {
		t.Errorf("c6i has no disks: %+v", c)
	}
	if hpc := e.Fleet.Groups[4].Node; hpc.DisksKnown || hpc.EFAKnown() || !e.Fleet.Full.EFAIncomplete || !e.Fleet.Full.ScratchIncomplete {
		t.Errorf("hpc6id has disks and EFA that are not known: %+v, %+v", hpc, e.Fleet.Full)
	}
}

// TestNew_keeps_spares_of_the_same_kind holds that no other node stands in for one
// with GPUs, and what a model loses that has to wait.
func TestNew_keeps_spares_of_the_same_kind(t *testing.T) {
	file := kinds + "SharedStorage: [{Name: s, MountDir: /s, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 4800, DeploymentType: SCRATCH_2}}]\n"
	e := answer(t, ask(t, file, "Run: {Days: 14}\nModels: [{Name: m, Nodes: 11, Queue: q, Parameters: 13B, Checkpoints: /s/m}]"))
	var got []string
	for _, s := range e.Spare {
		got = append(got, fmt.Sprintf("%s: %d of %d, %v", strings.Join(s.InstanceTypes, " "), s.Nodes, s.Wanted, s.Rated))
	}
	want := []string{"p5.48xlarge: 0 of 0, true", "c6i.large: 10 of 0, false", "trn2.48xlarge: 3 of 0, false",
		"p5.48xlarge p5en.48xlarge: 1 of 0, false", "hpc6id.32xlarge: 1 of 0, false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c, m := e.Models[0].Checkpoint, e.Models[0]
	want24 := (m.MTBFHours + 0.25) / (m.MTBFHours + 0.25 + 24) // 15 min until it computes again
	if part := c.GoodputWithoutSpare / c.Goodput; math.Abs(part-want24) > 1e-9 {
		t.Errorf("%g are left with waits, want %g: 24 h after every %g h", part, want24, m.MTBFHours)
	}
}

// TestNew_prices_blocks_as_blocks holds that the price on demand is none of a
// block, and that all that is paid for is said.
func TestNew_prices_blocks_as_blocks(t *testing.T) {
	const file = head + `    - {Name: od, ComputeResources: [{Name: a, InstanceType: p5.48xlarge, MaxCount: 1}]}
    - Name: cb
      CapacityType: CAPACITY_BLOCK
      ComputeResources: [{Name: b, InstanceType: p5.48xlarge, MinCount: 2, MaxCount: 2, CapacityReservationTarget: {CapacityReservationId: cr-1}}]
`
	q := ask(t, file, "Run: {Days: 15}")
	if b := answer(t, q).Blocks[0]; b.Upfront != nil || b.Days() != 21 {
		t.Errorf("got %+v", b)
	}
	q.Prices = map[string]float64{"p5.48xlarge": 30}
	endless := ask(t, file, "")
	endless.Prices = q.Prices
	if b := answer(t, endless).Blocks[0]; b.Upfront != nil {
		t.Errorf("%v is paid for a run of no length", b.Upfront)
	}
	e := answer(t, q)
	if b := e.Blocks[0]; b.Upfront.USD != 30*2*24*21 || b.Beyond.USD != 30*2*24*6 {
		t.Errorf("got %v paid, %v of it beyond the run", b.Upfront, b.Beyond)
	}
	if !strings.Contains(strings.Join(e.Notes, "\n"), "is used for all of it: on demand, capacity block") {
		t.Errorf("nothing says that one price is used twice: %q", e.Notes)
	}
}

// TestNew_knows_no_price_of_fast_io2 holds it beyond the first of AWS's steps.
func TestNew_knows_no_price_of_fast_io2(t *testing.T) {
	for iops, want := range map[int]float64{32_000: 100*0.125 + 32_000*0.065, 32_001: 0} {
		file := strings.Replace(queue("InstanceType: c6i.large, MaxCount: 1"), "Name: q,",
			fmt.Sprintf("Name: q, ComputeSettings: {LocalStorage: {RootVolume: {Size: 100, VolumeType: io2, Iops: %d}}},", iops), 1)
		v := answer(t, ask(t, file, "")).Price.Volumes[0]
		if v.Month.USD != want || (len(v.Month.Missing) > 0) != (want == 0) {
			t.Errorf("%d IOPS: got %+v, want %g", iops, v.Month, want)
		}
	}
}

// TestNew_writes_no_faster_than_the_nodes holds that small nodes are slower than
// the file system, and that models which share a node share its network.
func TestNew_writes_no_faster_than_the_nodes(t *testing.T) {
	file := queue("InstanceType: g6.12xlarge, MaxCount: 2") +
		"SharedStorage: [{Name: s, MountDir: /s, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 48000, DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 1000}}]\n"
	e := answer(t, ask(t, file, "Models: [{Name: a, GPUs: 2, Parameters: 1B, Checkpoints: /s/a}, {Name: b, GPUs: 2, Parameters: 1B, Checkpoints: /s/b}]"))
	if got, want := e.Models[0].Checkpoint.WriteSeconds, 14/5.0; got != want { // 40 Gbps are 5 GB/s
		t.Errorf("one is written in %g s, want %g", got, want)
	}
	if got, want := e.FileSystems[0].Use.WriteSeconds, 28/5.0; got != want {
		t.Errorf("both are written in %g s, want %g", got, want)
	}
}

func TestNew_names_the_model_that_has_no_room(t *testing.T) {
	_, err := plan.New(ask(t, queue("InstanceType: p5.48xlarge, MaxCount: 5"), "Models: [{Name: a, Nodes: 3}, {Name: b, Nodes: 3}, {Name: c, Nodes: 1}]"))
	m, ok := errors.AsType[*plan.Misfit](err)
	if !ok || m.Model != 1 || m.Hint == "" {
		t.Errorf("got %+v", err)
	}
	_, err = plan.New(ask(t, queue("InstanceType: p5.48xlarge, MaxCount: 5"), "Models: [{Name: a, Nodes: 6}, {Name: b, Nodes: 1}]"))
	if m, ok := errors.AsType[*plan.Misfit](err); !ok || m.Model != 0 {
		t.Errorf("got %+v, want the first that is too many", err)
	}
}

// TestNew_trains_on_GPUs holds that a model gets none of a queue's nodes without.
func TestNew_trains_on_GPUs(t *testing.T) {
	file := head + "    - {Name: q, ComputeResources: [{Name: c, InstanceType: c6i.large, MaxCount: 9}, {Name: g, InstanceType: p5.48xlarge, MaxCount: 4}]}\n"
	e := answer(t, ask(t, file, "Models: [{Name: a, Nodes: 3}]"))
	if got, want := e.Models[0].NodeList, "q-dy-g-[1-3]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err := plan.New(ask(t, file, "Models: [{Name: a, Nodes: 5}]"))
	if want := "the models of queue q ask for 5 nodes, 1 more than its 4 with GPUs"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNew_says_what_goes_where(t *testing.T) {
	var got []string
	for _, k := range answer(t, guide(t)).Kept {
		got = append(got, fmt.Sprintf("%s | %s | %s %.0f | %s > %s", k.Path, k.FileSystem, k.Holds, k.Bytes/1e9, strings.Join(k.From, " "), strings.Join(k.To, " ")))
	}
	want := []string{
		"/fsx1/datasets | fsx-data |  0 | s3://training-data-jakarta/datasets/ > ",
		"/fsx2/{model}/checkpoints | fsx-checkpoints | checkpoints: weights and optimizer state 1568 |  > s3://checkpoint-jakarta/",
		"/fsx2/{model}/outputs | fsx-checkpoints |  0 |  > s3://checkpoint-jakarta/",
		"/fsx3/{model}/training_logs | fsx-logs |  0 |  > s3://training-logs-jakarta/",
		"/fsx3/{model}/tensorboard | fsx-logs |  0 |  > s3://training-logs-jakarta/",
		"/fsx3/{model}/logs | fsx-logs |  0 |  > s3://training-logs-jakarta/",
		"/fsx3/logs | fsx-logs |  0 |  > s3://training-logs-jakarta/",
		"/scratch |  | temporary files: lost when the node ends 0 |  > ",
		"/home |  | home directories: lost with the cluster 0 |  > ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNew_knows_where_home_is(t *testing.T) {
	for settings, want := range map[string]string{
		"SharedStorageType: Efs":                                   "an EFS that ParallelCluster makes: home directories: lost with the cluster",
		"LocalStorage: {RootVolume: {DeleteOnTermination: false}}": "root volume of the head node, over NFS: home directories",
	} {
		file := strings.Replace(queue("InstanceType: c6i.large, MaxCount: 1"), "c6i.xlarge", "c6i.xlarge, "+settings, 1)
		k := answer(t, ask(t, file, "")).Kept[0]
		if got := k.On + ": " + k.Holds; got != want {
			t.Errorf("%s: got %s, want %s", settings, got, want)
		}
	}
}

// TestNew_prices_nothing_that_is_not_sold holds that no size is below nothing.
func TestNew_prices_nothing_that_is_not_sold(t *testing.T) {
	for _, settings := range []string{
		"StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: -1, DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 1000}",
		"StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 1201, DeploymentType: SCRATCH_2}",
		"StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 1200, DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: -1000}",
		"StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 1200, DeploymentType: PERSISTENT_1, StorageType: HDD, PerUnitStorageThroughput: 7}",
		"StorageType: Ebs, EbsSettings: {Size: -500}",
		"StorageType: Ebs, EbsSettings: {Size: 500, Throughput: -1}",
		"StorageType: Ebs, EbsSettings: {Size: 500, VolumeType: io1, Iops: 9000000000}",
	} {
		file := queue("InstanceType: p5.48xlarge, MaxCount: 1") + "SharedStorage: [{Name: s, MountDir: /s, " + settings + "}]\n"
		e := answer(t, ask(t, file, "Models: [{Name: m, Nodes: 1, Parameters: 1B, Checkpoints: /s/m}]"))
		f := e.FileSystems[0]
		if f.Month.USD != 0 || len(f.Month.Missing) == 0 || f.CapacityGiB != 0 || f.ThroughputMBps != 0 || f.Reason == "" || e.Models[0].Checkpoint.WriteSeconds != 0 {
			t.Errorf("%s: got %+v, %+v", settings, f, e.Models[0].Checkpoint)
		}
	}
	file := strings.Replace(queue("InstanceType: p5.48xlarge, MaxCount: 1"), "c6i.xlarge", "c6i.xlarge, LocalStorage: {RootVolume: {Size: -8}}", 1)
	if v := answer(t, ask(t, file, "")).Price.Volumes[0]; v.Month.USD != 0 || len(v.Month.Missing) == 0 {
		t.Errorf("got %+v", v)
	}
}

// TestNew_counts_the_blocks_of_all_queues holds that no type that is sold in
// Capacity Blocks alone is missed, and that the account's limit is for all.
func TestNew_counts_the_blocks_of_all_queues(t *testing.T) {
	const file = head + `    - {Name: a, ComputeResources: [{Name: r, Instances: [{InstanceType: p5.48xlarge}, {InstanceType: p5e.48xlarge}], MaxCount: 130}]}
    - {Name: b, ComputeResources: [{Name: r, InstanceType: trn2.48xlarge, MaxCount: 127}]}
`
	if few := answer(t, ask(t, strings.Replace(file, "127", "126", 1), "")); strings.Contains(strings.Join(few.Notes, "\n"), "more than the 256") {
		t.Errorf("256 are said to be too many: %q", few.Notes)
	}
	e := answer(t, ask(t, file, ""))
	if len(e.Blocks) != 2 || e.Blocks[0].InstanceType != "p5e.48xlarge" || e.Blocks[0].Instances != 130 || e.Blocks[1].InstanceType != "trn2.48xlarge" {
		t.Errorf("got %+v", e.Blocks)
	}
	if !strings.Contains(strings.Join(e.Notes, "\n"), "257 instances are more than the 256") {
		t.Errorf("got %q", e.Notes)
	}
}
