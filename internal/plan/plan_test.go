package plan_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// one is a cluster of one queue "q" with one compute resource "r".
func one(r spec.ComputeResource) *spec.Cluster {
	r.Name = "r"
	return &spec.Cluster{Scheduling: spec.Scheduling{Queues: []spec.Queue{{Name: "q", ComputeResources: []spec.ComputeResource{r}}}}}
}

func TestNodeNames(t *testing.T) {
	for _, row := range []struct {
		name     string
		min, max int
		want     string
	}{
		{"dynamic", 0, 2, "q-dy-r-1 q-dy-r-2"},
		{"static", 2, 2, "q-st-r-1 q-st-r-2"},
		{"both", 1, 3, "q-st-r-1 q-dy-r-1 q-dy-r-2"},
		{"none", 0, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := one(spec.ComputeResource{InstanceTypes: []string{"c6i.large"}, MinCount: row.min, MaxCount: row.max})
			if got := strings.Join(plan.NodeNames(c), " "); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			var grouped []string
			for _, g := range plan.Groups(c, nil) {
				grouped = append(grouped, g.Names()...)
			}
			if got := strings.Join(grouped, " "); got != row.want {
				t.Errorf("the groups have %q, want %q", got, row.want)
			}
		})
	}
}

func TestGroups_offer_what_every_instance_type_has(t *testing.T) {
	for _, row := range []struct {
		name     string
		resource spec.ComputeResource
		want     slurm.NodeGroup
	}{
		{"cpus_and_95_percent_of_the_memory", spec.ComputeResource{InstanceTypes: []string{"c6i.large"}},
			slurm.NodeGroup{CPUs: 2, MemoryMiB: 3891, Features: []string{"dynamic", "c6i.large", "r"}}},
		{"cores_only", spec.ComputeResource{InstanceTypes: []string{"c6i.4xlarge"}, DisableSMT: true},
			slurm.NodeGroup{CPUs: 8, MemoryMiB: 31129, Features: []string{"dynamic", "c6i.4xlarge", "r"}}},
		{"memory_of_the_user", spec.ComputeResource{InstanceTypes: []string{"c6i.large"}, SchedulableMemoryMiB: 1000},
			slurm.NodeGroup{CPUs: 2, MemoryMiB: 1000, Features: []string{"dynamic", "c6i.large", "r"}}},
		{"least_of_several", spec.ComputeResource{InstanceTypes: []string{"m6i.4xlarge", "c6i.2xlarge", "r6i.4xlarge"}},
			slurm.NodeGroup{CPUs: 8, MemoryMiB: 15564, Features: []string{"dynamic", "m6i.4xlarge", "c6i.2xlarge", "r6i.4xlarge", "r"}}},
		{"gpus_and_efa", spec.ComputeResource{InstanceTypes: []string{"p5e.48xlarge"}, EFA: true},
			slurm.NodeGroup{CPUs: 192, MemoryMiB: 1992294, GPU: "h200", GPUs: 8, Features: []string{"dynamic", "p5e.48xlarge", "r", "efa", "gpu"}}},
		{"no_gpus_where_one_type_has_none", spec.ComputeResource{InstanceTypes: []string{"g5.xlarge", "c6i.xlarge"}},
			slurm.NodeGroup{CPUs: 4, MemoryMiB: 7782, Features: []string{"dynamic", "g5.xlarge", "c6i.xlarge", "r"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.resource.MaxCount = 1
			row.want.Resource, row.want.Addresses, row.want.TmpDiskMiB = slurm.Resource{Queue: "q", Name: "r"}, []netip.Addr{room.First}, 35<<10
			got := plan.Groups(one(row.resource), map[string]netip.Addr{"q-dy-r-1": room.First})
			if diff := cmp.Diff([]slurm.NodeGroup{row.want}, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// TestGroups_weights has nodes taken in the order that the file asks for.
func TestGroups_weights(t *testing.T) {
	groups := plan.Groups(one(spec.ComputeResource{InstanceTypes: []string{"c6i.large"}, MinCount: 1, MaxCount: 2, StaticPriority: 7, DynamicPriority: 30}), nil)
	if len(groups) != 2 || groups[0].Weight != 7 || groups[1].Weight != 30 {
		t.Errorf("got %+v", groups)
	}
}

func TestGroups_features_say_first_whether_nodes_are_static(t *testing.T) {
	c := one(spec.ComputeResource{InstanceTypes: []string{"g5.xlarge"}, MinCount: 1, MaxCount: 2})
	for _, name := range []string{"static", "dynamic", "gpu"} {
		c.Scheduling.Queues[0].ComputeResources[0].Name = name
		for _, g := range plan.Groups(c, nil) {
			if (g.Features[0] == "static") != g.Static {
				t.Errorf("static %t, features %v", g.Static, g.Features)
			}
			if sorted := slices.Sorted(slices.Values(g.Features)); len(slices.Compact(sorted)) != len(g.Features) {
				t.Errorf("a feature comes twice in %v", g.Features)
			}
		}
	}
}

func TestPartitions_have_the_nodes_of_their_queue(t *testing.T) {
	c := load(t, "testdata/mixed/cluster.yaml")
	got := plan.Partitions(c, plan.Groups(c, addresses(t, c)))
	want := []slurm.PartitionConf{
		{Name: "cpu", Nodes: []string{"cpu-st-mixed-1", "cpu-dy-mixed-[1-2]", "cpu-st-static-[1-2]"},
			Custom: []slurm.Setting{{Key: "MaxNodes", Value: "4"}, {Key: "PriorityJobFactor", Value: "10"}}},
		{Name: "gpu", Nodes: []string{"gpu-dy-gpu-1", "gpu-dy-spare-[1-300]"}, Exclusive: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestAddresses_refuse_two_nodes_of_one_name(t *testing.T) {
	r := spec.ComputeResource{InstanceTypes: []string{"c6i.large"}, MaxCount: 2}
	short, long := r, r
	short.Name, long.Name = "r", "dy-r"
	c := &spec.Cluster{Scheduling: spec.Scheduling{Queues: []spec.Queue{
		{Name: "q", ComputeResources: []spec.ComputeResource{short, long}},
		{Name: "q-dy", ComputeResources: []spec.ComputeResource{short}},
	}}}
	_, err := plan.Addresses(plan.NodeNames(c), nil, room)
	want := "the file gives two nodes the name q-dy-dy-r-1; rename a queue or a compute resource"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAddresses_are_kept(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		have := map[string]netip.Addr{"head": netip.MustParseAddr("10.99.0.1")}
		for range 20 {
			names := nodes(r)
			next, err := plan.Addresses(names, have, room)
			if err != nil {
				t.Fatal(err)
			}
			checkAddresses(t, names, have, next)
			have = next
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// nodes is a random part of a cluster, in random order.
func nodes(r *rand.Rand) []string {
	var names []string
	for i := range 1 + r.IntN(600) {
		if r.IntN(3) > 0 {
			names = append(names, fmt.Sprintf("q-dy-r-%d", i+1))
		}
	}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

func checkAddresses(t *testing.T, names []string, before, after map[string]netip.Addr) {
	owner := map[netip.Addr]string{}
	for _, n := range names {
		a, ok := after[n]
		switch {
		case !ok:
			t.Errorf("%s has no address", n)
		case owner[a] != "":
			t.Errorf("%s and %s have %s", n, owner[a], a)
		case a.Compare(room.First) < 0 || a.Compare(room.Last) > 0:
			t.Errorf("%s has %s, which is no node's", n, a)
		case before[n].IsValid() && before[n] != a:
			t.Errorf("%s had %s and has %s", n, before[n], a)
		}
		owner[a] = n
	}
	if len(after) != len(names) {
		t.Errorf("%d addresses for %d nodes", len(after), len(names))
	}
}

func TestAddresses_mends_a_record_that_is_wrong(t *testing.T) {
	have := map[string]netip.Addr{
		"a": netip.MustParseAddr("10.99.0.1"), "b": netip.MustParseAddr("192.0.2.1"),
		"c": netip.MustParseAddr("10.99.0.7"), "d": netip.MustParseAddr("10.99.0.7"), "e": {},
	}
	names := []string{"a", "b", "c", "d", "e"}
	got, err := plan.Addresses(names, have, room)
	if err != nil {
		t.Fatal(err)
	}
	checkAddresses(t, names, map[string]netip.Addr{"c": have["c"]}, got)
}

func TestAddresses_run_out(t *testing.T) {
	names := make([]string, 65533)
	for i := range names {
		names[i] = fmt.Sprintf("q-dy-r-%d", i+1)
	}
	full, err := plan.Addresses(names, nil, room)
	if err != nil {
		t.Fatalf("with exactly as many nodes as addresses: %v", err)
	}
	checkAddresses(t, names, nil, full)
	_, err = plan.Addresses(append(names, "one-more"), full, room)
	want := "the file has 65534 nodes, and the cluster's network has no more than 65533 addresses for them"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
