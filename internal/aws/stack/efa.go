package stack

import (
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

// EFADevices is how many EFA devices a node of a compute resource is launched with.
// root is the cluster file, and the instance's own type counts where it names none.
func EFADevices(root, inQueue, of spec.View, own string) int {
	m := maker{file: root}
	r := m.resource(queue{view: inQueue}, of)
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
