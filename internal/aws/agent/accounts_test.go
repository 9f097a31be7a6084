package agent

import (
	"testing"

	"github.com/muster-hpc/muster/internal/spec"
)

// Without muster.yaml in the bucket nobody asks slurmdbd, and nothing that was made goes.
func TestAccountsWithoutMusterYAMLStay(t *testing.T) {
	h := &headNode{agent: &agent{cluster: &cluster{workload: &spec.Workload{}}}}
	if got, err := h.accounts(t.Context()); err != nil || got != "no muster.yaml: left as they are" {
		t.Errorf("%q, %v", got, err)
	}
}
