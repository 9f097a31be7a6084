package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/examples"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// load reads an example, which may have nothing worse than an Info.
func load(t *testing.T, name string) (*spec.Cluster, *spec.Workload) {
	t.Helper()
	file := filepath.Join(name, "cluster.yaml")
	c, problems := spec.Load(file)
	show(t, problems)
	w, problems := spec.LoadWorkload(spec.WorkloadPath(file), c)
	show(t, problems)
	if c == nil || w == nil {
		t.Fatalf("%s does not load", name)
	}
	return c, w
}

func show(t *testing.T, l *diag.List) {
	t.Helper()
	if l.Count(diag.Error)+l.Count(diag.Warning) == 0 {
		return
	}
	var b strings.Builder
	if err := diag.WriteText(&b, l, false); err != nil {
		t.Fatal(err)
	}
	t.Error(b.String())
}

func TestGuide80(t *testing.T) {
	c, w := load(t, "guide-80")
	want := guide80()
	want.Scheduling.Queues[0].CustomActions = c.Scheduling.Queues[0].CustomActions
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("cluster (-want +got):\n%s", diff)
	}
	if got := c.Scheduling.Queues[0].CustomActions["OnNodeStart"]; len(got) != 1 || !strings.HasPrefix(got[0].URL, "s3://your-bucket/scripts/") {
		t.Errorf("scripts are %+v", got)
	}
	nodes := 0
	for _, m := range w.Models {
		nodes += m.Nodes
	}
	if len(w.Models) != 7 || nodes != 80 {
		t.Errorf("%d models on %d nodes, want 7 on 80", len(w.Models), nodes)
	}
	if got, want := len(w.Expanded()), 2+5*7; got != want {
		t.Errorf("%d directories, want %d", got, want)
	}
}

// guide80 is the guide's cluster, but for its custom actions.
func guide80() *spec.Cluster {
	export := []string{"NEW", "CHANGED"}
	lustre := spec.LustreSettings{DeploymentType: "PERSISTENT_2", CapacityGiB: 7200, PerUnitThroughput: 1000, DataCompressionType: "LZ4"}
	logs := lustre
	logs.CapacityGiB, logs.PerUnitThroughput = 4800, 500
	root := spec.RootVolume{VolumeType: "gp3", SizeGiB: 200, Iops: 3000, Throughput: 125, Encrypted: true}
	together := spec.PlacementGroup{Enabled: true}
	buckets := []spec.S3Access{
		{Bucket: "your-bucket"}, {Bucket: "training-data-jakarta"}, {Bucket: "checkpoint-jakarta", Write: true}, {Bucket: "training-logs-jakarta", Write: true},
	}
	return &spec.Cluster{
		File: "guide-80/cluster.yaml", Region: "ap-southeast-3", OS: "alinux2023",
		HeadNode: spec.HeadNode{
			InstanceType: "c6i.4xlarge", ScratchDir: "/scratch", RootVolume: root, SecuredMetadata: true,
			SSH: spec.SSH{KeyName: "your-keypair-name", AllowedIPs: "203.0.113.0/24"}, DCV: spec.DCV{Port: 8443, AllowedIPs: "0.0.0.0/0"},
			IAM: spec.IAM{Policies: []string{"arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"}, S3Access: buckets},
		},
		Scheduling: spec.Scheduling{
			ScalingStrategy: "all-or-nothing",
			Slurm:           spec.SlurmSettings{ScaledownIdleMinutes: 10, MemoryBasedScheduling: true, UpdateStrategy: "COMPUTE_FLEET_STOP"},
			Queues: []spec.Queue{{
				Name: "gpu-queue", CapacityType: "ONDEMAND", AllocationStrategy: "lowest-price", ScratchDir: "/scratch", RootVolume: root,
				PlacementGroup: together, IAM: spec.IAM{S3Access: buckets},
				ComputeResources: []spec.ComputeResource{{
					Name: "p5e-nodes", InstanceTypes: []string{"p5e.48xlarge"}, MaxCount: 80, StaticPriority: 1, DynamicPriority: 1000, EFA: true, PlacementGroup: together,
				}},
			}},
		},
		SharedStorage: []spec.SharedStorage{
			{Name: "fsx-data", MountDir: "/fsx1", Kind: spec.Lustre, Lustre: lustre, DeletionPolicy: "Retain", Repositories: []spec.DataRepository{{
				Name: "datasets", Dir: "/fsx1/datasets", Bucket: "training-data-jakarta", Prefix: "datasets/", Association: &spec.Association{Path: "/datasets", URI: "s3://training-data-jakarta/datasets", ChunkMiB: 1024},
				AutoImport: []string{"NEW", "CHANGED", "DELETED"}, ImportAtFirst: true,
			}}},
			{Name: "fsx-checkpoints", MountDir: "/fsx2", Kind: spec.Lustre, Lustre: lustre, DeletionPolicy: "Retain", Repositories: []spec.DataRepository{{
				Name: "checkpoints", Dir: "/fsx2", Bucket: "checkpoint-jakarta", AutoExport: export, Association: &spec.Association{Path: "/", URI: "s3://checkpoint-jakarta", ChunkMiB: 1024},
			}}},
			{Name: "fsx-logs", MountDir: "/fsx3", Kind: spec.Lustre, Lustre: logs, DeletionPolicy: "Retain", Repositories: []spec.DataRepository{{
				Name: "logs", Dir: "/fsx3", Bucket: "training-logs-jakarta", AutoExport: export, Association: &spec.Association{Path: "/", URI: "s3://training-logs-jakarta", ChunkMiB: 1024},
			}}},
		},
		Monitoring: spec.Monitoring{
			Logs:     spec.Logs{Enabled: true, RetentionDays: 14, DeletionPolicy: "Retain"},
			Detailed: true, Dashboard: true, Alarms: true, LogRotation: true,
		},
		Timeouts: spec.Timeouts{HeadNode: 35 * time.Minute, ComputeNode: 35 * time.Minute},
		Tags:     []spec.Tag{{Key: "Project", Value: "DistributedTraining"}, {Key: "Environment", Value: "Production"}},
	}
}

// TestDemo_differs_in_its_idle_time_only holds that what the demo shows is what
// the guide's cluster does.
func TestDemo_differs_in_its_idle_time_only(t *testing.T) {
	guide, guideWork := load(t, "guide-80")
	demo, demoWork := load(t, "demo")
	if demo.Scheduling.Slurm.ScaledownIdleMinutes != 1 {
		t.Errorf("idle time is %d minutes, want 1", demo.Scheduling.Slurm.ScaledownIdleMinutes)
	}
	demo.Scheduling.Slurm.ScaledownIdleMinutes = guide.Scheduling.Slurm.ScaledownIdleMinutes
	demo.File, demoWork.File = guide.File, guideWork.File
	places := cmp.Comparer(func(_, _ diag.Place) bool { return true })
	if diff := cmp.Diff(guide, demo) + cmp.Diff(guideWork, demoWork, places); diff != "" {
		t.Errorf("(-guide +demo):\n%s", diff)
	}
	var other []string
	was, is := lines(t, "guide-80/cluster.yaml"), lines(t, "demo/cluster.yaml")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			other = append(other, is[i])
		}
	}
	if len(was) != len(is) || len(other) != 1 || !strings.Contains(other[0], "ScaledownIdletime: 1 ") {
		t.Errorf("the files' texts differ in %q", other)
	}
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(data), "\n")
}

func TestFiles_are_those_of_the_folders(t *testing.T) {
	for _, name := range []string{
		"guide-80/cluster.yaml", "guide-80/muster.yaml", "demo/cluster.yaml", "demo/muster.yaml",
		"bytelm/bytelm.c", "bytelm/model.h", "bytelm/bytelm.sbatch",
	} {
		got, err := examples.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
