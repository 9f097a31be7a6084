package stack

import (
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

// EFADevices is how many EFA devices a node of a compute resource is launched with.
// The instance's own type counts where the file names none.
func EFADevices(resource spec.View, own string) int {
	var m maker
	r := m.resource(queue{}, resource)
	if len(r.types) == 0 {
		r.types = []string{own}
	}
	n := 0
	for _, c := range m.interfaces(r) {
		if strings.HasPrefix(c.kind, efaBoth) {
			n++
		}
	}
	return n
}
