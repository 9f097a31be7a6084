package stack

import (
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/cfn"
)

// TestOpen_ports_are_served holds that what lets people in is SSH's port, or one of the
// file's for a desktop.
func TestOpen_ports_are_served(t *testing.T) {
	seen := map[int]int{}
	for name, set := range sets(t) {
		for _, r := range set.Base.Template.Resources {
			group, ok := r.Properties.(cfn.SecurityGroup)
			if !ok {
				continue
			}
			for _, rule := range group.SecurityGroupIngress {
				seen[rule.FromPort]++
				if rule.CidrIp+rule.CidrIpv6 != "" && !slices.Contains([]int{22, 8443, 8444}, rule.FromPort) {
					t.Errorf("%s: %s lets people in to port %d, where nothing serves them", name, r.ID, rule.FromPort)
				}
			}
		}
	}
	if seen[22] == 0 || seen[8443]+seen[8444] == 0 {
		t.Errorf("the ports are %v", seen)
	}
}

// TestNetworks_of_a_cluster are those of its own subnets, and no wider.
func TestNetworks_of_a_cluster(t *testing.T) {
	all := sets(t)
	for name, want := range map[string][]string{"least": {"10.0.0.0/24", "10.0.128.0/17"}, "groups": {"10.1.0.0/24", "10.1.16.0/20"}} {
		if got := all[name].m.networks(); !slices.Equal(got, want) {
			t.Errorf("%s: networks %v, want %v", name, got, want)
		}
	}
}
