package headnode

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/spec"
)

func TestAssociations(t *testing.T) {
	c := &spec.Cluster{SharedStorage: []spec.SharedStorage{{Name: "ebs", MountDir: "/ebs"}}}
	w := &spec.Workload{Exports: []spec.Export{{
		Directory: "/ebs/team/runs", Bucket: "results", Prefix: "runs/", Policy: []string{"NEW", "DELETED"}, KeepLast: 3, KeepEvery: 1000, Quiet: time.Minute,
	}}}
	got := associations(nil, c, w)
	want := export.Rule{
		Dir: "/ebs/team/runs", Trusted: "/ebs", Mount: "/ebs/team/runs", Bucket: "results", Prefix: "runs/", New: true, Deleted: true,
		Keep: checkpoint.Policy{Last: 3, Every: 1000}, Quiet: time.Minute,
	}
	if len(got) != 1 || got[0].Path != "/ebs/team/runs" || got[0].Record != linksDir+"/%2Febs%2Fteam%2Fruns" || got[0].Pace != patient {
		t.Fatalf("got %+v", got)
	}
	if diff := cmp.Diff(want, got[0].Rule); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWorkloadOf(t *testing.T) {
	c := &spec.Cluster{SharedStorage: []spec.SharedStorage{{Name: "ebs", MountDir: "/ebs"}}}
	for _, row := range []struct {
		name, text string
		exports    int
		ok         bool
	}{
		{"none", "absent", 0, true},
		{"empty", "", 0, true},
		{"some", "Exports: [{Directory: /ebs, Bucket: results}]", 1, true},
		{"damaged", "Exports: [", 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "muster.yaml")
			if row.text != "absent" {
				if err := os.WriteFile(path, []byte(row.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			w, err := workloadOf(path, c)
			if (err == nil) != row.ok || err == nil && len(w.Exports) != row.exports {
				t.Errorf("got %+v, %v", w, err)
			}
		})
	}
}
