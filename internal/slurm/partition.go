package slurm

import (
	"fmt"
	"time"
)

// Partition is a partition as scontrol shows it.
type Partition struct {
	Name string `json:"name"`
	// State is UP, DOWN, DRAIN or INACTIVE.
	State    string `json:"state"`
	Default  bool   `json:"default"`
	NodeList string `json:"node_list,omitempty"`
	Nodes    int    `json:"nodes"`
	CPUs     int    `json:"cpus"`
	// MinNodes is how many nodes a job must have. MaxTime and DefaultTime are 0 where there is none, MaxNodes likewise.
	MinNodes      int           `json:"min_nodes,omitempty"`
	MaxTime       time.Duration `json:"max_time,omitempty"`
	DefaultTime   time.Duration `json:"default_time,omitempty"`
	MaxNodes      int           `json:"max_nodes,omitempty"`
	OverSubscribe string        `json:"over_subscribe,omitempty"`
	TRES          string        `json:"tres,omitempty"`
}

var partitionGrammar = grammar{first: "PartitionName"}

// parsePartitions reads scontrol show partition, one line a partition or many.
func parsePartitions(output []byte) ([]Partition, []Problem) {
	return parsed(partitionGrammar.records(output, nil), func(r *record) Partition {
		p := Partition{
			Name:          r.text("PartitionName"),
			State:         r.text("State"),
			Default:       r.values["Default"] == "YES",
			NodeList:      r.text("Nodes"),
			Nodes:         r.int("TotalNodes"),
			CPUs:          r.int("TotalCPUs"),
			MaxTime:       r.duration("MaxTime"),
			DefaultTime:   r.duration("DefaultTime"),
			MinNodes:      r.int("MinNodes"),
			MaxNodes:      r.int("MaxNodes"),
			OverSubscribe: r.text("OverSubscribe"),
			TRES:          r.text("TRES"),
		}
		if p.Name == "" || p.State == "" {
			r.fail(fmt.Errorf("a partition without a name or a state"))
		}
		return p
	})
}
