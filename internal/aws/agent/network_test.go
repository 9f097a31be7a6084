package agent

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// TestNetworks_that_mount are the cluster's own, not the whole VPC.
func TestNetworks_that_mount(t *testing.T) {
	vpc := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	for name, row := range map[string]struct {
		told []string
		want []netip.Prefix
	}{
		"subnets":      {[]string{"10.1.16.0/20"}, []netip.Prefix{netip.MustParsePrefix("10.1.16.0/20")}},
		"older_muster": {nil, vpc},
	} {
		t.Run(name, func(t *testing.T) {
			h := &headNode{agent: &agent{identity: boot.Identity{Networks: vpc}, cluster: &cluster{site: manifest.Site{Networks: row.told}}}}
			if got := h.networks(); !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}
