package local

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/spec"
)

func TestRules(t *testing.T) {
	c := &spec.Cluster{SharedStorage: []spec.SharedStorage{
		{Name: "shared", MountDir: "/shared"},
		{Name: "fsx", MountDir: "/fsx/big", Repositories: []spec.DataRepository{{Dir: "/fsx/big/data", Bucket: "sets", AutoImport: []string{"NEW"}, ImportAtFirst: true}}},
	}}
	w := &spec.Workload{
		FileSystems: []spec.FileSystem{{Name: "home", MountDir: "/home", Kind: spec.OpenZFS}},
		Exports: []spec.Export{
			{Directory: "/home/me/runs", Bucket: "results", Prefix: "runs/", Policy: []string{"NEW", "DELETED"}},
			{Directory: "/shared", Bucket: "results", Prefix: "shared/", Policy: []string{"NEW", "CHANGED"}},
		},
	}
	want := []export.Rule{
		{Dir: "/r/shared/fsx-big/data", Trusted: "/r/shared/fsx-big", Mount: "/fsx/big/data", Bucket: "sets", Import: export.Policy{Initial: true, New: true}},
		{Dir: "/r/shared/home/me/runs", Trusted: "/r/shared/home", Mount: "/home/me/runs", Bucket: "results", Prefix: "runs/", New: true, Deleted: true},
		{Dir: "/r/shared/shared", Trusted: "/r/shared/shared", Mount: "/shared", Bucket: "results", Prefix: "shared/", New: true, Changed: true},
	}
	if diff := cmp.Diff(want, rules(&nodes.Layout{Dir: "/r"}, c.With(w), w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
