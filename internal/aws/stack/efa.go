package stack

import (
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

// EFADevices is how many EFA devices a node of a compute resource is launched with. The
// instance's own type counts where the resource names none.
func EFADevices(c *spec.Cluster, r spec.ComputeResource, own string) int {
	if len(r.InstanceTypes) == 0 {
		r.InstanceTypes = []string{own}
	}
	n := 0
	for _, i := range interfaces(c, r) {
		if strings.HasPrefix(i.kind, efaBoth) {
			n++
		}
	}
	return n
}
