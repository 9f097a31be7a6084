package cause_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/policy"
)

// When a node dies, the batch script ends with the run's state on a node that is well.
func TestScriptsNodeIsNotAtFault(t *testing.T) {
	v := cause.Judge(cause.Evidence{
		Run: cause.Run{State: "NODE_FAIL", Nodes: []string{"q-1", "q-2"}, Steps: []cause.Step{
			{Name: "batch", State: "NODE_FAIL", Nodes: []string{"q-1"}}, {Name: "0", State: "CANCELLED", Nodes: []string{"q-1", "q-2"}},
		}},
		Nodes: []cause.Node{{Name: "q-1"}, {Name: "q-2", Down: true, Reason: "muster: the instance ended"}}, Policy: policy.Default(), Checkpoint: 5,
	})
	if len(v.Faults) != 1 || v.Faults[0].Node != "q-2" || v.Class != cause.NodeLost || v.Action != cause.Elsewhere {
		t.Errorf("got %+v", v)
	}
}
