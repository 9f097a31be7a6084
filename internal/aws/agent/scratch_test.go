package agent

import (
	"testing"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

func TestScratchDir(t *testing.T) {
	a := &agent{cluster: &cluster{file: &spec.Cluster{
		HeadNode:   spec.HeadNode{ScratchDir: "/head"},
		Scheduling: spec.Scheduling{Queues: []spec.Queue{{Name: "cpu", ScratchDir: "/cpu"}, {Name: "gpu", ScratchDir: "/gpu"}}},
	}}}
	for name, row := range map[string]struct {
		ticket manifest.Ticket
		want   string
	}{
		"head":  {manifest.Ticket{Role: manifest.RoleHead}, "/head"},
		"node":  {manifest.Ticket{Role: manifest.RoleCompute, Queue: "gpu"}, "/gpu"},
		"login": {manifest.Ticket{Role: manifest.RoleLogin, Queue: "people"}, "/scratch"},
	} {
		a.Ticket = row.ticket
		if got, err := a.scratchDir(); err != nil || got != row.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, row.want)
		}
	}
	a.Ticket = manifest.Ticket{Role: manifest.RoleCompute, Queue: "gone"}
	if _, err := a.scratchDir(); err == nil {
		t.Error("a queue that is gone has a scratch directory")
	}
}
