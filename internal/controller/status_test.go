package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/slurm"
)

func TestStaticNodes(t *testing.T) {
	node := func(name, state, reason string, features ...string) slurm.Node {
		return slurm.Node{Name: name, State: slurm.ParseNodeState(state), Reason: reason, Features: features}
	}
	got := staticNodes([]slurm.Node{
		node("q-st-a-1", "IDLE", "", "static", "c5.large"),
		node("q-st-a-2", "MIXED+DRAIN", "somebody looks at it", "static"),
		node("q-st-a-3", "IDLE+POWERING_UP", "", "static"),
		node("q-st-a-4", "IDLE+POWERING_UP", "", "static"),
		node("q-st-a-5", "DOWN", "no capacity", "static"),
		node("q-st-a-6", "IDLE+NOT_RESPONDING", "", "static"),
		node("q-st-b-1", "IDLE+CLOUD+MAINTENANCE+POWERED_DOWN+RESERVED", "", "static"),
		node("q-dy-a-1", "IDLE", "", "dynamic"),
		node("q-st-b-dy-a-1", "IDLE", "", "dynamic"),
		node("other", "IDLE", "", "fast", "static"),
	})
	want := &manifest.StaticNodes{Want: 7, Ready: 2, Later: []string{"q-st-b-1"}, Missing: []string{
		"q-st-a-6 does not answer", "q-st-a-5 down: no capacity", "q-st-a-[3-4] on the way up",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
