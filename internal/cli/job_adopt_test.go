package cli

import (
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/slurm"
)

// The last task of an array has the array's own number for Slurm: who asks for that number may mean all tasks.
func TestTasksMeant(t *testing.T) {
	jobs := []slurm.Job{
		{ID: 28, ArrayJobID: 28, ArrayTask: "3", State: "RUNNING"},
		{ID: 29, ArrayJobID: 28, ArrayTask: "1", State: "RUNNING"},
		{ID: 30, ArrayJobID: 28, ArrayTask: "2", State: "COMPLETED"},
		{ID: 31, State: "RUNNING"},
		{ID: 32, ArrayJobID: 32, ArrayTask: "1-4%2", State: "PENDING"},
	}
	for asked, want := range map[string][]string{
		"28": {"28_1", "28_3"}, "28_3": nil, "29": nil, "31": nil, "32": {"32_[1-4%2]"}, "0": nil,
	} {
		if got := tasksMeant(jobs, asked); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", asked, got, want)
		}
	}
}
