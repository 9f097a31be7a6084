package plan_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/spec"
)

const twoKinds = head + "    - Name: q\n      ComputeResources:\n" +
	"        - {Name: a, InstanceType: p5.48xlarge, MinCount: 3, MaxCount: 12}\n        - {Name: b, InstanceType: g6.12xlarge, MaxCount: 5}\n"

// TestNew_divides_by_its_laws: a whole node is one model's, a GPU is one
// model's, a model has what it asked for, and every node is somewhere.
func TestNew_divides_by_its_laws(t *testing.T) {
	divided := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 5))
		e, err := plan.New(ask(t, twoKinds, models(r)))
		if err != nil {
			continue
		}
		divided++
		users := map[string]int{} // GPUs of a node, by node and GPU
		whole := map[string]bool{}
		for _, m := range e.Models {
			ranks := m.Ranks()
			if len(ranks) != m.GPUs {
				t.Errorf("seed %d: %s has %d ranks and %d GPUs", seed, m.Name, len(ranks), m.GPUs)
			}
			for i, rank := range ranks {
				if rank.Rank != i {
					t.Errorf("seed %d: rank %d of %s is called %d", seed, i, m.Name, rank.Rank)
				}
				users[fmt.Sprint(rank.Node, " ", rank.GPU)]++
				whole[rank.Node] = true
			}
		}
		for gpu, n := range users {
			if n > 1 {
				t.Errorf("seed %d: %d models have GPU %s", seed, n, gpu)
			}
		}
		got := len(whole)
		for _, s := range e.Spare {
			got += s.Nodes
		}
		if got != 17 {
			t.Errorf("seed %d: %d nodes of 17, %+v", seed, got, e.Spare)
		}
	}
	if divided < 100 {
		t.Errorf("only %d of 400 divisions were possible", divided)
	}
}

func models(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("Models:\n")
	for i := range 1 + r.IntN(6) {
		key, n := "Nodes", 1+r.IntN(5)
		if r.IntN(2) == 0 {
			key, n = "GPUs", 1+r.IntN(8)
		}
		fmt.Fprintf(&b, "  - {Name: m%d, %s: %d}\n", i, key, n)
	}
	return b.String()
}

// FuzzNew holds that whatever muster.yaml accepts has a plan or a reason why not.
func FuzzNew(f *testing.F) {
	f.Add("Run: {Days: 14}\nModels: [{Name: a, Nodes: 2, Parameters: 70B, Checkpoints: /fsx}, {Name: b, GPUs: 3, Parameters: 1e18, KeepCheckpoints: 1000000}]")
	f.Add("Run: {Hours: 1e-9, RestartMinutes: 0, ReplacementHours: 0}\nModels: [{Name: a, Nodes: 12, Parameters: 1, BytesPerParameter: 1e-9, Checkpoints: /fsx}]")
	f.Add("FileSystems: [{Name: h, MountDir: /home, DeploymentType: SINGLE_AZ_1, StorageCapacity: 64, ThroughputCapacity: 64, Iops: 400000}]\nBuckets: [abc]")
	f.Fuzz(func(t *testing.T, workload string) {
		q := ask(t, twoKinds+lustre, "")
		w, _ := spec.ParseWorkload("muster.yaml", []byte(workload), q.Cluster)
		if w == nil {
			return
		}
		q.Workload = w
		e, err := plan.New(q)
		if err != nil {
			return
		}
		for _, m := range e.Models {
			if c := m.Checkpoint; c != nil && !(c.Goodput >= 0 && c.Goodput <= 1 && c.GoodputWithoutSpare >= 0 && c.GoodputWithoutSpare <= c.Goodput && c.IntervalSeconds >= 0 && c.LostHours >= 0) {
				t.Errorf("%s: %+v", m.Name, c)
			}
		}
		for _, s := range e.Spare {
			if s.Nodes < 0 || s.PartGPUs < 0 || s.Wanted < 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}
