package local

import (
	"os"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/spec"
)

// TestChanges has `up` say what of a cluster's files is to be another.
func TestChanges(t *testing.T) {
	ref := Ref{Home: t.TempDir(), Name: "u"}
	l := ref.Layout()
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../examples/demo/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := string(text)
	const associations = "SharedStorage[fsx-logs].FsxLustreSettings.DataRepositoryAssociations"
	more := strings.NewReplacer("RetentionInDays: 14", "RetentionInDays: 30", "Name: logs", "Name: \"other\\elogs\"", "PerUnitStorageThroughput: 500", "PerUnitStorageThroughput: 1000").Replace(file)
	for _, tt := range []struct{ name, was, is, workload, want string }{
		{name: "new cluster", is: file},
		{name: "the same", was: file, is: file},
		{name: "a comment", was: file, is: "# mine\n" + file},
		{name: "a limit", was: file, is: strings.Replace(file, "MaxCount: 80", "MaxCount: 81", 1), want: "; changed: Scheduling.SlurmQueues[gpu-queue].ComputeResources[p5e-nodes].MaxCount 80 -> 81"},
		{name: "muster.yaml", was: file, is: file, workload: "Jobs: {}\n", want: "; changed: muster.yaml"},
		{name: "more", was: file, is: more, workload: "Jobs: {}\n", want: "; changed: Monitoring.Logs.CloudWatch.RetentionInDays 14 -> 30, " + associations + `[other\x1blogs] new: other\x1blogs, ` + associations + "[logs] was: logs, and 2 more"},
		{name: "no cluster file", was: "\x00", is: file},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_ = os.Remove(l.Path("cluster.yaml"))
			if tt.was != "" {
				if err := os.WriteFile(l.Path("cluster.yaml"), []byte(tt.was), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(l.Path("muster.yaml"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			u := &up{layout: l, UpOptions: UpOptions{Source: []byte(tt.is), WorkloadSource: []byte(tt.workload), File: &spec.Cluster{File: "new.yaml"}}}
			if got := u.changes(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
