package spec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-hpc/muster/internal/spec"
)

// linked is a cluster with a Lustre of which one directory goes to a bucket and another
// comes from one.
var linked = &spec.Cluster{File: "cluster.yaml", CustomS3Bucket: "own-bucket", SharedStorage: []spec.SharedStorage{
	{Name: "shared", MountDir: "/shared"},
	{Name: "fsx", MountDir: "/fsx", Repositories: []spec.DataRepository{
		{Dir: "/fsx/checkpoints", Bucket: "results", Prefix: "checkpoints/", AutoExport: []string{"NEW"}},
		{Dir: "/fsx/data", Bucket: "datasets", AutoImport: []string{"NEW"}},
	}},
}}

func TestParseWorkload_exports(t *testing.T) {
	got, problems := spec.ParseWorkload("muster.yaml", []byte(`
Buckets: [mine]
Exports:
  - {Directory: /shared/runs/, Bucket: mine}
  - {Directory: /fsx/logs, Bucket: datasets, Prefix: /team/logs, Policy: [NEW, DELETED], KeepLast: 3, KeepEvery: 1000, Quiet: 90}
`), linked)
	if problems.Len() != 0 {
		t.Fatal(text(t, problems))
	}
	want := []spec.Export{
		{Directory: "/shared/runs", Bucket: "mine", Policy: []string{"NEW", "CHANGED"}},
		{Directory: "/fsx/logs", Bucket: "datasets", Prefix: "team/logs/", Policy: []string{"NEW", "DELETED"}, KeepLast: 3, KeepEvery: 1000, Quiet: 90 * time.Second},
	}
	if diff := cmp.Diff(want, got.Exports, cmpopts.IgnoreFields(spec.Export{}, "Place")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at := got.Exports[1].Place; at.Line != 5 || at.Path != "Exports[1].Bucket" {
		t.Errorf("the second bucket is at %+v", at)
	}
}

func TestParseWorkload_export_problems(t *testing.T) {
	rows := []refusedFile{
		{"on_no_mount", "{Directory: /home/me, Bucket: datasets}"},
		{"relative", "{Directory: shared, Bucket: datasets}"},
		{"of_each_model", "{Directory: '/shared/{model}', Bucket: datasets}"},
		{"nowhere", "{Directory: /shared}"},
		{"no_bucket_name", "{Directory: /shared, Bucket: 10.0.0.1}"},
		{"the_clusters_bucket", "{Directory: /shared, Bucket: own-bucket, Prefix: x}"},
		{"prefix_that_climbs", "{Directory: /shared, Bucket: datasets, Prefix: ../x}"},
		{"prefix_with_a_wildcard", "{Directory: /shared, Bucket: datasets, Prefix: 'a*'}"},
		{"prefix_of_two_lines", `{Directory: /shared, Bucket: datasets, Prefix: "a\nb"}`},
		{"policy", "{Directory: /shared, Bucket: datasets, Policy: [SOME]}"},
		{"keep", "{Directory: /shared, Bucket: datasets, KeepEvery: 10}"},
		{"in_each_other", "{Directory: /shared/a, Bucket: datasets, Prefix: a}, {Directory: /shared, Bucket: datasets, Prefix: b}"},
		{"objects_in_each_other", "{Directory: /shared/a, Bucket: datasets}, {Directory: /shared/b, Bucket: datasets, Prefix: b}"},
		{"what_fsx_exports", "{Directory: /fsx, Bucket: datasets, Prefix: all}"},
		{"where_fsx_exports_to", "{Directory: /fsx/logs, Bucket: results}"},
	}
	for i := range rows {
		rows[i].data = "Exports: [" + rows[i].data + "]\n"
	}
	checkRefused(t, "workload-export-problems.txt", linked, rows)
}

func TestParseWorkload_says_which_bucket_has_to_be_there(t *testing.T) {
	w, problems := spec.ParseWorkload("muster.yaml", []byte("Exports: [{Directory: /shared, Bucket: elsewhere}]"), linked)
	if w == nil || problems.Len() != 1 || !strings.Contains(text(t, problems), "nothing here makes the bucket") {
		t.Errorf("%+v, %s", w, text(t, problems))
	}
}
