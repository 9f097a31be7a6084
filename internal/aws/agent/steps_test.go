package agent

import (
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// TestSteps_are_in_order: what proves a node comes after what starts its hardware, and
// before Slurm may give it jobs.
func TestSteps_are_in_order(t *testing.T) {
	names := func(all []step) (out []string) {
		for _, s := range all {
			out = append(out, s.name)
		}
		return out
	}
	of := func(role string) *agent { return &agent{Config: Config{Ticket: manifest.Ticket{Role: role}}} }
	compute, login := &node{agent: of(manifest.RoleCompute)}, &node{agent: of(manifest.RoleLogin)}
	head := &headNode{agent: of(manifest.RoleHead)}
	for name, row := range map[string]struct{ steps, want []string }{
		"compute": {names(compute.steps()), []string{"run OnNodeStart", "set the kernel", "start NVIDIA's services", "mount file systems", "prepare containers", "look at health", "run OnNodeConfigured", "burn in", "start services"}},
		"login":   {names(login.steps()), []string{"bring munge key", "share host keys", "set the kernel", "start NVIDIA's services", "mount file systems", "start services"}},
		"head":    {names(head.headSteps()), []string{"set the kernel", "start NVIDIA's services", "mount file systems", "export directories", "prepare database", "start services", "run OnNodeConfigured"}},
	} {
		at := -1
		for _, want := range row.want {
			i := slices.Index(row.steps, want)
			if i <= at {
				t.Errorf("%s: %q is at %d of %q", name, want, i, row.steps)
			}
			at = i
		}
	}
}
