package spec

import (
	"strings"
	"testing"
)

// TestOneList holds that no setting is both ParallelCluster's, which no file may have, and a
// local cluster's alone.
func TestOneList(t *testing.T) {
	for _, key := range denied[slurmConf] {
		if OwnSetting(key) {
			t.Errorf("%s is in both lists", key)
		}
	}
}

func TestRefuseMounts(t *testing.T) {
	for _, row := range []struct {
		c    Cluster
		want string
	}{
		{Cluster{SharedStorage: []SharedStorage{{MountDir: "/shared"}}}, ""},
		{Cluster{SharedStorage: []SharedStorage{{MountDir: "/opt/muster2"}}}, ""},
		{Cluster{SharedStorage: []SharedStorage{{MountDir: "/shared"}, {MountDir: "/run/munge/x"}}}, "/run/munge"},
		{Cluster{HeadNode: HeadNode{ScratchDir: "/var/lib/mysql"}}, "/var/lib/mysql"},
		{Cluster{Scheduling: Scheduling{Queues: []Queue{{ScratchDir: "/opt/muster"}}}}, "/opt/muster"},
	} {
		err := row.c.RefuseMounts()
		want := "a cluster has files of its own in " + row.want + ";"
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, row.want)
		}
	}
}
