package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/spec"
)

// departure is where our table says something else than ParallelCluster, on
// purpose.
type departure struct{ path, column, reason string }

var departures = []departure{
	{"HeadNode.Networking", "required", "muster makes the network"},
	{"HeadNode.Networking.SubnetId", "required", "muster makes the network"},
	{"LoginNodes.Pools[].Networking", "required", "muster makes the network"},
	{"LoginNodes.Pools[].Networking.SubnetIds", "required", "muster makes the network"},
	{"Scheduling.SlurmQueues[].Networking", "required", "muster makes the network"},
	{"Scheduling.SlurmQueues[].Networking.SubnetIds", "required", "muster makes the network"},
	{"Scheduling.SlurmQueues[]", "required", "up to 3.15 a rule of its own demands it, because AWS Batch has other queues"},
	{"HeadNode.LocalStorage.RootVolume.Iops", "default", "it depends on VolumeType"},
	{"HeadNode.LocalStorage.RootVolume.Throughput", "default", "it depends on VolumeType"},
	{"Scheduling.SlurmQueues[].ComputeSettings.LocalStorage.RootVolume.Iops", "default", "it depends on VolumeType"},
	{"Scheduling.SlurmQueues[].ComputeSettings.LocalStorage.RootVolume.Throughput", "default", "it depends on VolumeType"},
	{"SharedStorage[].EbsSettings.Iops", "default", "it depends on VolumeType"},
	{"SharedStorage[].EbsSettings.Throughput", "default", "it depends on VolumeType"},
	{"DeploymentSettings.DisableSudoAccessForDefaultUser", "default", "it is none, and counts as false"},
	{"HeadNode.SharedStorageEfsSettings.Encrypted", "default", "the class has it as its parameter's own default"},
	{"Scheduling.ScalingStrategy", "default", "up to 3.15 the recording builds no scheduling without a scheduler"},
	{"Scheduling.SlurmQueues[].AllocationStrategy", "default", "it holds for queues with Instances"},
	{"Scheduling.Scheduler", "constraint", "AWS Batch is not supported"},
	{"Scheduling.SlurmQueues[].ComputeResources[].SchedulableMemory", "constraint", "a validator wants at least 1"},
	{"SharedStorage[].FsxLustreSettings.DataRepositoryAssociations[].FileSystemPath", "constraint", "Go's patterns write characters in another way, and repeat at most 1000 times"},
}

// recorded are ParallelCluster's keys at a level, from its live schema.
func recorded(t *testing.T, l spec.Level) map[string]spec.Key {
	t.Helper()
	keys := map[string]spec.Key{}
	for line := range strings.Lines(read(t, "testdata/parallelcluster/keys.tsv")) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if first, last, ranged := strings.Cut(c[0], ".."); ranged && (l.String() < first || l.String() > last) {
			continue
		}
		keys[c[1]] = spec.Key{Path: c[1], Type: c[2], Required: strings.Replace(c[3], "C", "Y", 1), Constraint: c[4], Default: c[5], UpdatePolicy: c[6]}
	}
	return keys
}

// TestKeys_are_those_of_ParallelCluster holds the table against what each level
// of ParallelCluster says itself.
func TestKeys_are_those_of_ParallelCluster(t *testing.T) {
	used := map[departure]bool{}
	for _, level := range spec.Levels() {
		want := recorded(t, level)
		if len(want) < 340 {
			t.Fatalf("%s: the recording has %d keys", level, len(want))
		}
		for _, got := range spec.Keys(level) {
			w, known := want[got.Path]
			delete(want, got.Path)
			if !known {
				t.Errorf("%s: ParallelCluster has no %s", level, got.Path)
				continue
			}
			for column, pair := range columns(got, w) {
				if pair[0] == pair[1] {
					continue
				}
				if i := slices.IndexFunc(departures, func(d departure) bool { return d.path == got.Path && d.column == column }); i >= 0 {
					used[departures[i]] = true
					continue
				}
				t.Errorf("%s: %s: the %s is %q, want %q", level, got.Path, column, pair[0], pair[1])
			}
		}
		for path := range want {
			t.Errorf("%s: the table has no %s", level, path)
		}
	}
	for _, d := range departures {
		if !used[d] {
			t.Errorf("%s departs no more in its %s", d.path, d.column)
		}
	}
}

func columns(got, want spec.Key) map[string][2]string {
	return map[string][2]string{
		"type":       {got.Type, want.Type},
		"required":   {got.Required, want.Required},
		"constraint": {strings.Replace(got.Constraint, "id:", "re:", 1), want.Constraint},
		"default":    {got.Default, want.Default},
		"policy":     {got.UpdatePolicy, want.UpdatePolicy},
	}
}

// TestKeys_differ_by_level shows that a level's keys are its own.
func TestKeys_differ_by_level(t *testing.T) {
	var counts []string
	for _, l := range spec.Levels() {
		counts = append(counts, fmt.Sprintf("%s: %d", l, len(spec.Keys(l))))
	}
	want := []string{"3.11: 343", "3.12: 343", "3.13: 343", "3.14: 345", "3.15: 349", "3.16: 350"}
	if !slices.Equal(counts, want) {
		t.Errorf("got %v, want %v", counts, want)
	}
}
