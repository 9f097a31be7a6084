// Package templates holds the CloudFormation templates of internal/aws/stack against
// what others know: cfn-lint, and what ParallelCluster deploys for the same cluster
// files. Every difference from ParallelCluster is decided in decided.tsv.
package templates

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recorded is the cluster's name in the recordings; in the goldens it is their own.
const recorded = "recorded"

// clusterFiles are the cluster files for which there are goldens, by their names.
func clusterFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{"guide-80": "../../examples/guide-80/cluster.yaml"}
	for name := range names(t, goldens, ".yaml") {
		if !strings.HasSuffix(name, ".muster") {
			files[name] = filepath.Join(goldens, name+".yaml")
		}
	}
	return files
}

// names are the files of a folder with an ending, without it.
func names(t *testing.T, dir, ending string) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+ending))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no *%s: %v", dir, ending, err)
	}
	have := map[string]bool{}
	for _, path := range paths {
		have[strings.TrimSuffix(filepath.Base(path), ending)] = true
	}
	return have
}

func TestDifferences_from_ParallelCluster_are_decided(t *testing.T) {
	decided := decisions(t)
	files := clusterFiles(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, err := os.ReadFile(files[name])
		if err != nil {
			t.Fatal(err)
		}
		all := differences(theirs(t, name, string(text)).facts(), ours(t, name, string(text)).facts())
		for _, one := range all {
			known := false
			for _, d := range decided {
				if !d.covers(one) {
					continue
				}
				known, d.used = true, true
				break
			}
			if !known {
				t.Errorf("%s: nobody has decided this:\n%s\t%s\t%s\t%s\t", name, one.thing, one.property, one.theirs, one.ours)
			}
		}
	}
	for _, d := range decided {
		if !d.used {
			t.Errorf("decided.tsv:%d: there is no such difference, or an earlier line has it: %s %s", d.line, d.thing, d.property)
		}
	}
}

func TestEvery_cluster_is_recorded(t *testing.T) {
	have, want := names(t, recordings, ".json"), clusterFiles(t)
	for name := range want {
		if !have[name] {
			t.Errorf("%s is not recorded: bench/templates/record %s", name, name)
		}
	}
	for name := range have {
		if want[name] == "" {
			t.Errorf("%s is recorded, and internal/aws/stack has no such cluster", name)
		}
	}
}
