package aws

import (
	"context"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/place"
)

// TestOpen_keeps_the_usual_way holds that a way that was asked for in particular is neither
// replaced by the usual one nor kept as that.
func TestOpen_keeps_the_usual_way(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing is asked
	kept := connect.Way{Keys: "kept"}
	c := &cluster{home: t.TempDir(), record: Record{Name: "demo", Region: "us-east-1"}, way: &kept, muster: "muster"}
	if way, muster, err := c.open(ctx, place.Way{}); err != nil || way.Keys != kept.Keys || muster != "muster" {
		t.Errorf("the usual way: %v, %q, %v", way, muster, err)
	}
	if way, _, err := c.open(ctx, place.Way{User: "somebody"}); err == nil {
		t.Errorf("the way of another user is that of the usual one: %v", way)
	}
	if c.way != &kept {
		t.Errorf("the usual way is forgotten: %v", c.way)
	}
}
