package suite

import (
	"fmt"
	"testing"

	"github.com/muster-hpc/muster/internal/slurm"
)

// TestHolders holds that those are named who have nodes that we wait for, and nobody else.
func TestHolders(t *testing.T) {
	of := func(id int, state, nodes string) slurm.Job {
		return slurm.Job{ID: id, Name: "train", User: "ada", State: state, NodeList: nodes}
	}
	many := []slurm.Job{}
	for i := range 7 {
		many = append(many, of(i+1, "RUNNING", fmt.Sprintf("n%d", i+1)))
	}
	for name, c := range map[string]struct {
		jobs []slurm.Job
		want string
	}{
		"none":         {nil, ""},
		"ours":         {[]slurm.Job{of(9, "CONFIGURING", "n[1-2]")}, ""},
		"waits":        {[]slurm.Job{of(3, "PENDING", "")}, ""},
		"ended":        {[]slurm.Job{of(3, "COMPLETED", "n1")}, ""},
		"elsewhere":    {[]slurm.Job{of(3, "RUNNING", "x[1-4]")}, ""},
		"some_of_ours": {[]slurm.Job{of(3, "RUNNING", "n[2-3],x1"), of(4, "COMPLETING", "n1")}, "; job 3 (train, of ada) has n[2-3], job 4 (train, of ada) has n1"},
		"too_many":     {many, "; job 1 (train, of ada) has n1, job 2 (train, of ada) has n2, job 3 (train, of ada) has n3, job 4 (train, of ada) has n4, job 5 (train, of ada) has n5, and 2 more"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := holders(c.jobs, 9, []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7"}); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
