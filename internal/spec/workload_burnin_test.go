package spec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// still is a cluster with two queues whose nodes stay, the first with GPUs.
var still = &spec.Cluster{
	File: "cluster.yaml",
	Scheduling: spec.Scheduling{Queues: []spec.Queue{
		{Name: "train", ComputeResources: []spec.ComputeResource{{Name: "p5", InstanceTypes: []string{"p5.48xlarge"}, MinCount: 4, MaxCount: 4}}},
		{Name: "cpu", ComputeResources: []spec.ComputeResource{{Name: "c", InstanceTypes: []string{"c6i.large", "g4ad.xlarge"}, MinCount: 1, MaxCount: 1}}},
	}},
}

func TestParseWorkload_burn_in(t *testing.T) {
	for _, row := range []struct {
		name, data string
		want       *spec.BurnIn
	}{
		{"absent", "{}", nil},
		{"by_default", "BurnIn: {}", &spec.BurnIn{Suites: []string{"gpu", "efa", "nccl", "storage"}, Minutes: 15, DiagnosisLevel: 2}},
		{"said", "BurnIn: {Queues: [train], Suites: [host, collectives], Minutes: 45, DiagnosisLevel: 3}",
			&spec.BurnIn{Queues: []string{"train"}, Suites: []string{"host", "collectives"}, Minutes: 45, DiagnosisLevel: 3}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, problems := spec.ParseWorkload("muster.yaml", []byte(row.data), still)
			if problems.Len() != 0 {
				t.Fatal(text(t, problems))
			}
			if diff := cmp.Diff(row.want, got.BurnIn); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseWorkload_burn_in_problems(t *testing.T) {
	rows := []refusedFile{
		{"nothing", "BurnIn:\n"},
		{"a_truth", "BurnIn: true\n"},
		{"unknown_key", "BurnIn: {Queue: [train]}\n"},
		{"no_queues", "BurnIn: {Queues: []}\n"},
		{"queues_in_a_word", "BurnIn: {Queues: train}\n"},
		{"queue_unknown", "BurnIn: {Queues: [trian]}\n"},
		{"queue_nowhere_near", "BurnIn: {Queues: [mainframe]}\n"},
		{"queue_twice", "BurnIn: {Queues: [train, train]}\n"},
		{"no_suites", "BurnIn: {Suites: []}\n"},
		{"suite_unknown", "BurnIn: {Suites: [gpus]}\n"},
		{"suite_nowhere_near", "BurnIn: {Suites: [everything]}\n"},
		{"suites_of_slurms_nodes", "BurnIn: {Suites: [basic, container, network, slurm]}\n"},
		{"suite_twice", "BurnIn: {Suites: [gpu, gpu]}\n"},
		{"no_minutes", "BurnIn: {Minutes: 0}\n"},
		{"too_many_minutes", "BurnIn: {Minutes: 241}\n"},
		{"no_level", "BurnIn: {DiagnosisLevel: 0}\n"},
		{"level_unknown", "BurnIn: {DiagnosisLevel: 5}\n"},
	}
	checkRefused(t, "workload-burnin-problems.txt", still, rows)
}

// TestParseWorkload_burn_in_advice holds what is said of files that are good.
func TestParseWorkload_burn_in_advice(t *testing.T) {
	var b strings.Builder
	for _, row := range []struct {
		name, data string
		cluster    *spec.Cluster
		said       bool
	}{
		{"too_short_for_the_level", "BurnIn: {DiagnosisLevel: 3}", still, true},
		{"too_short_for_the_default", "BurnIn: {Minutes: 1}", still, true},
		{"hours_too_short", "BurnIn: {Minutes: 60, DiagnosisLevel: 4}", still, true},
		{"nothing_to_look_at", "BurnIn: {Queues: [train, cpu], Suites: [gpu, nccl]}", still, true},
		{"nothing_to_look_at_but_all_queues", "BurnIn: {Suites: [gpu, nccl]}", still, false},
		{"no_efa_anywhere", "BurnIn: {Suites: [efa]}", still, true},
		{"for_all_machines", "BurnIn: {Queues: [cpu], Suites: [gpu, host]}", still, false},
		{"just_enough", "BurnIn: {Minutes: 30, DiagnosisLevel: 3}", still, false},
		{"hours", "BurnIn: {Minutes: 120, DiagnosisLevel: 4}", still, false},
		{"seconds", "BurnIn: {Minutes: 1, DiagnosisLevel: 1}", still, false},
		{"no_diagnosis", "BurnIn: {Suites: [host], DiagnosisLevel: 4}", still, false},
		{"no_gpus_of_nvidia", "BurnIn: {Queues: [cpu], DiagnosisLevel: 4}", still, false},
		{"nodes_that_come_and_go", "BurnIn: {}", fleet, true},
		{"of_one_queue", "BurnIn: {Queues: [cpu], Minutes: 30}", fleet, true},
		{"nobody_knows_the_cluster", "BurnIn: {Queues: [any], DiagnosisLevel: 4}", nil, false},
	} {
		w, problems := spec.ParseWorkload("muster.yaml", []byte(row.data), row.cluster)
		if w == nil || (problems.Len() > 0) != row.said {
			t.Errorf("%s: %s", row.name, text(t, problems))
		}
		b.WriteString("== " + row.name + "\n" + text(t, problems))
	}
	golden.Check(t, "workload-burnin-advice.txt", b.String())
}

func TestBurnInOf(t *testing.T) {
	all := &spec.Workload{BurnIn: &spec.BurnIn{Minutes: 15}}
	one := &spec.Workload{BurnIn: &spec.BurnIn{Queues: []string{"train"}, Minutes: 240}}
	for _, row := range []struct {
		name     string
		workload *spec.Workload
		queue    string
		want     time.Duration
	}{
		{"no_workload", nil, "train", 0},
		{"no_burn_in", &spec.Workload{}, "train", 0},
		{"every_queue", all, "train", 15 * time.Minute},
		{"a_queue_of_them", one, "train", 4 * time.Hour},
		{"another_queue", one, "cpu", 0},
	} {
		got := row.workload.BurnInOf(row.queue)
		if got.Limit() != row.want || (got == nil) != (row.want == 0) {
			t.Errorf("%s: got %+v, at most %s; want %s", row.name, got, got.Limit(), row.want)
		}
	}
}
