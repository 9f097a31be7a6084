package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// TestVolumes_need_a_level: several volumes are one array, and a guess at its level would
// lose what is on them.
func TestVolumes_need_a_level(t *testing.T) {
	h := &headNode{agent: &agent{cluster: &cluster{site: manifest.Site{Storage: []manifest.Storage{
		{Name: "fs", Type: spec.EFS, MountDir: "/fs"},
		{Name: "raid", Type: spec.EBS, MountDir: "/raid", IDs: []string{"vol-1", "vol-2"}},
	}}}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no volume is waited for
	_, err := h.volumes(ctx)
	if err == nil || !strings.Contains(err.Error(), "how the volumes of raid are one: run `muster up` again") {
		t.Errorf("got %v", err)
	}
}
