package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/spec"
)

// fleet is a cluster with two queues and a mount.
var fleet = &spec.Cluster{
	File: "cluster.yaml",
	Scheduling: spec.Scheduling{Queues: []spec.Queue{
		{Name: "gpu", ComputeResources: []spec.ComputeResource{{Name: "p5e", InstanceTypes: []string{"p5e.48xlarge"}, MaxCount: 4}}},
		{Name: "cpu", ComputeResources: []spec.ComputeResource{{Name: "c", InstanceTypes: []string{"c6i.large"}, MaxCount: 4}}},
	}},
	SharedStorage: []spec.SharedStorage{{Name: "data", MountDir: "/data"}},
}

func TestParseWorkload_plan(t *testing.T) {
	got, problems := spec.ParseWorkload("muster.yaml", []byte(`
Run: {Days: 14, RestartMinutes: 5, ReplacementHours: 2.5}
Models:
  - {Name: a, Queue: gpu, Nodes: 2, Parameters: 70B, Checkpoints: "/data/{model}/checkpoints/", KeepCheckpoints: 5}
  - {Name: b, GPUs: 3, Parameters: 7e9, Optimizer: none, Precision: fp32}
  - {Name: c, Parameters: 1000, BytesPerParameter: 16}
FileSystems:
  - {Name: home, MountDir: /home, DeploymentType: SINGLE_AZ_2, StorageCapacity: 1024, ThroughputCapacity: 640}
  - {Name: more, MountDir: more, DeploymentType: SINGLE_AZ_1, StorageCapacity: 64, ThroughputCapacity: 64, Iops: 1000,
     DataCompressionType: LZ4, DeletionPolicy: Delete}
Buckets: [training-data, checkpoints.example]
Grafana: {AllowedIps: 203.0.113.0/24}
Directories: [{Path: '/home/{model}'}, {Path: /more}]
`), fleet)
	if problems.Len() != 0 {
		t.Fatal(text(t, problems))
	}
	want := &spec.Workload{
		File: "muster.yaml",
		Run:  spec.Run{Hours: 336, RestartMinutes: 5, ReplacementHours: 2.5},
		Models: []spec.Model{
			{Name: "a", Queue: "gpu", Nodes: 2, Parameters: 70e9, Optimizer: "adam", Precision: "bf16", Checkpoints: "/data/a/checkpoints", KeepCheckpoints: 5},
			{Name: "b", GPUs: 3, Parameters: 7e9, Optimizer: "none", Precision: "fp32", KeepCheckpoints: 3},
			{Name: "c", Parameters: 1000, Optimizer: "adam", Precision: "bf16", BytesPerParameter: 16, KeepCheckpoints: 3},
		},
		FileSystems: []spec.FileSystem{
			{Name: "home", MountDir: "/home", Kind: spec.OpenZFS, DeploymentType: "SINGLE_AZ_2", CapacityGiB: 1024, ThroughputMBps: 640,
				Compression: "NONE", DeletionPolicy: spec.PolicyRetain},
			{Name: "more", MountDir: "/more", Kind: spec.OpenZFS, DeploymentType: "SINGLE_AZ_1", CapacityGiB: 64, ThroughputMBps: 64,
				Iops: 1000, Compression: "LZ4", DeletionPolicy: spec.PolicyDelete},
		},
		Buckets:     []string{"training-data", "checkpoints.example"},
		Grafana:     spec.Grafana{Enabled: true, AllowedIps: "203.0.113.0/24"},
		Directories: []spec.Directory{{Path: "/home/{model}", Mode: 0o775}, {Path: "/more", Mode: 0o775}},
	}
	if diff := cmp.Diff(want, got, withoutPlaces); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, line := range []int{4, 5, 6} {
		if at := got.Models[i].Place; at.File != "muster.yaml" || at.Line != line || at.Path != fmt.Sprintf("Models[%d].%s", i, []string{"Nodes", "GPUs", "Name"}[i]) {
			t.Errorf("model %d is at %+v, want line %d", i, at, line)
		}
	}
	var mounts []string
	for _, s := range fleet.With(got).SharedStorage {
		mounts = append(mounts, fmt.Sprint(s.Name, " ", s.Kind, " ", s.MountDir, " ", s.DeletionPolicy))
	}
	if got, want := strings.Join(mounts, ", "), "data  /data , home FsxOpenZfs /home Retain, more FsxOpenZfs /more Delete"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(fleet.SharedStorage) != 1 {
		t.Error("With changed the cluster")
	}
}

func TestParseWorkload_plan_problems(t *testing.T) {
	const zfs = "DeploymentType: SINGLE_AZ_2, StorageCapacity: 1024, ThroughputCapacity: 640"
	rows := []refusedFile{
		{"run_twice", "Run: {Days: 1, Hours: 24}\n"},
		{"run_of_nothing", "Run: {Days: 0}\n"},
		{"run_of_next_to_nothing", "Run: {Days: 1e-300}\n"},
		{"more_nodes_than_slurm_has", "Models: [{Name: a, Nodes: 9223372036854775807}, {Name: b, GPUs: 9223372036854775807}]\n"},
		{"run_below_nothing", "Run: {Hours: -3, RestartMinutes: -1}\n"},
		{"run_for_ever", "Run: {Days: 10000, ReplacementHours: 1e9}\n"},
		{"run_is_no_number", "Run: {Days: two weeks}\n"},
		{"run_is_nan", "Run: {Days: .nan}\n"},
		{"queue_unknown", "Models: [{Name: a, Queue: gup, GPUs: 9}]\n"},
		{"queue_nowhere_near", "Models: [{Name: a, Queue: mainframe}]\n"},
		{"parameters", "Models: [{Name: a, Parameters: many}, {Name: b, Parameters: 0}, {Name: c, Parameters: [1]}, {Name: d, Parameters: }, {Name: e, Parameters: -7B}, {Name: f, Parameters: 0x7}]\n"},
		{"bytes_per_parameter", "Models: [{Name: a, BytesPerParameter: 0}, {Name: b, BytesPerParameter: 1e9}]\n"},
		{"optimizer", "Models: [{Name: a, Optimizer: magic}]\n"},
		{"nodes_and_gpus", "Models: [{Name: a, Nodes: 1, GPUs: 4}]\n"},
		{"more_gpus_than_a_node_has", "Models: [{Name: a, Queue: gpu, GPUs: 9}, {Name: b, Queue: cpu, GPUs: 1}]\n"},
		{"checkpoints_nowhere", "Models: [{Name: a, Checkpoints: /fsx2/checkpoints}, {Name: b, Checkpoints: '/data/{name}'}]\n"},
		{"file_system_twice", "FileSystems:\n  - {Name: a, MountDir: /x, " + zfs + "}\n  - {Name: a, MountDir: x, " + zfs + "}\n"},
		{"file_system_of_the_file", "FileSystems:\n  - {Name: data, MountDir: /data, " + zfs + "}\n  - {Name: b, MountDir: /data/more, " + zfs + "}\n"},
		{"file_systems_in_each_other", "FileSystems:\n  - {Name: a, MountDir: /x, " + zfs + "}\n  - {Name: b, MountDir: /x/y, " + zfs + "}\n"},
		{"file_system_over_the_system", "FileSystems:\n  - {Name: a, MountDir: /etc, " + zfs + "}\n"},
		{"throughput_not_sold", "FileSystems:\n  - {Name: a, MountDir: /x, DeploymentType: SINGLE_AZ_1, StorageCapacity: 1024, ThroughputCapacity: 640}\n"},
		{"file_system_incomplete", "FileSystems:\n  - {Name: a, MountDir: /x}\n"},
		{"file_system_too_small", "FileSystems:\n  - {Name: a, MountDir: /x, DeploymentType: SINGLE_AZ_2, StorageCapacity: 10, ThroughputCapacity: 640}\n"},
		{"other_kind_of_file_system", "FileSystems:\n  - {Name: a, MountDir: /x, StorageType: FsxLustre, " + zfs + "}\n"},
		{"buckets", "Buckets: [Training, a..b, 10.0.0.1, xn--a, abc, abc, s3://abc]\n"},
		{"bucket_nothing", "Buckets: [a]\n"},
		{"too_many_models", "Models: [" + numbered("{Name: a%d}, ", 10_001) + "]\n"},
		{"grafana_for_whom", "Grafana: {Enabled: true}\n"},
		{"grafana_network", "Grafana: {AllowedIps: everybody}\n"},
	}
	checkRefused(t, "workload-plan-problems.txt", fleet, rows)
}

func TestParseWorkload_warns_of_grafana_for_everybody(t *testing.T) {
	w, problems := spec.ParseWorkload("muster.yaml", []byte("Grafana: {AllowedIps: 0.0.0.0/0}"), fleet)
	if w == nil || problems.Len() != 1 || problems.All()[0].Code != "workload/grafana" {
		t.Errorf("%+v, %s", w, text(t, problems))
	}
	if _, problems := spec.ParseWorkload("muster.yaml", []byte("Grafana: {Enabled: false}"), fleet); problems.Len() != 0 {
		t.Error(text(t, problems))
	}
}

func TestParseParameters(t *testing.T) {
	for in, want := range map[string]float64{
		"70B": 70e9, "70b": 70e9, "1.5T": 1.5e12, "7e9": 7e9, "350M": 350e6, "10k": 10e3, "7G": 7e9, "123": 123,
		"": 0, "B": 0, "0": 0, "-1B": 0, "nan": 0, "inf": 0, "1e99": 0, "0x10": 0, "7 B": 0, "1_000": 0,
	} {
		got, ok := spec.ParseParameters(in)
		if ok != (want > 0) || ok && got != want {
			t.Errorf("ParseParameters(%q) = %g, %v; want %g", in, got, ok, want)
		}
	}
}

func TestParseRun(t *testing.T) {
	for in, want := range map[string]float64{
		"14d": 336, "2w": 336, "36h": 36, "1.5d": 36, "": 0, "14": 0, "d": 0, "0d": 0, "-1d": 0, "14 d": 0, "9999w": 0, "nand": 0, "1e1d": 0, "0.0001h": 0, "0.5h": 0.5,
	} {
		got, ok := spec.ParseRun(in)
		if ok != (want > 0) || ok && got != want {
			t.Errorf("ParseRun(%q) = %g, %v; want %g", in, got, ok, want)
		}
	}
}
