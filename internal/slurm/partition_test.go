package slurm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParsePartitions(t *testing.T) {
	want := []Partition{
		{Name: "gpu", State: "UP", Default: true, NodeList: "p5e-st-[1-4]", Nodes: 4, CPUs: 8, OverSubscribe: "NO",
			TRES: "cpu=8,mem=8000M,node=4,billing=8,gres/gpu=32"},
		{Name: "debug", State: "UP", NodeList: "p5e-st-[1-2]", Nodes: 2, CPUs: 4, OverSubscribe: "NO", MaxTime: time.Hour,
			TRES: "cpu=4,mem=4000M,node=2,billing=4,gres/gpu=16"},
	}
	for _, version := range versions {
		got, problems := parsePartitions(sample(t, "slurm-"+version, "scontrol-show-partition.txt"))
		if len(problems) > 0 {
			t.Errorf("%s: %v", version, problems)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", version, diff)
		}
	}
}

func TestParsePartitionsOneLine(t *testing.T) {
	got, problems := parsePartitions(sample(t, "slurm-22.05.8", "cloud", "partition.txt"))
	if len(problems) > 0 || len(got) != 2 || got[1].MaxTime != 24*time.Hour {
		t.Errorf("got %v, problems %v", got, problems)
	}
	field, problems := parsePartitions(sample(t, "slurm-field", "scontrol-show-partition.txt"))
	if len(problems) > 0 || len(field) != 3 || field[1].MaxNodes != 64 || field[1].MaxTime != 14*24*time.Hour {
		t.Errorf("got %v, problems %v", field, problems)
	}
	nodes, err := Expand(field[0].NodeList)
	if err != nil || len(nodes) != field[0].Nodes {
		t.Errorf("got %d nodes, want %d: %v", len(nodes), field[0].Nodes, err)
	}
}

func FuzzParsePartitions(f *testing.F) {
	f.Add(sample(f, "slurm-25.11.7", "scontrol-show-partition.txt"))
	f.Add(sample(f, "slurm-field", "scontrol-show-partition.txt"))
	f.Fuzz(func(t *testing.T, output []byte) {
		partitions, problems := parsePartitions(output)
		for _, p := range partitions {
			if p.Name == "" {
				t.Errorf("a partition has no name: %+v; problems %v", p, problems)
			}
		}
	})
}
