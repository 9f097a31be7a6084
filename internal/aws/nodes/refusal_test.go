package nodes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/nodes"
)

// The codes of which ParallelCluster's users know what becomes of them, and each
// with a source.
func TestCauses(t *testing.T) {
	all := nodes.Causes()
	for code, says := range all {
		if len(strings.Fields(says)) < 2 {
			t.Errorf("%s is %q, want its class and its source", code, says)
		}
	}
	for code, cause := range map[string]string{
		"InsufficientInstanceCapacity": "capacity", "InsufficientHostCapacity": "capacity", "InsufficientReservedInstanceCapacity": "capacity",
		"InsufficientCapacity": "capacity", "MaxSpotInstanceCountExceeded": "capacity", "SpotMaxPriceTooLow": "capacity", "Unsupported": "capacity",
		"UnfulfillableCapacity": "capacity", "ReservationCapacityExceeded": "capacity", "InsufficientFreeAddressesInSubnet": "capacity",
		"VcpuLimitExceeded": "limit", "InstanceLimitExceeded": "limit", "RequestLimitExceeded": "throttled", "UnauthorizedOperation": "permission",
	} {
		var got, source string
		if _, err := fmt.Sscan(all[code], &got, &source); err != nil || got != cause || source == "" {
			t.Errorf("%s is %q, want %s and its source", code, all[code], cause)
		}
	}
}
