package local

import (
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/slurm"
)

func TestAtStake(t *testing.T) {
	for _, row := range []struct {
		jobs   []string
		delete bool
		want   string
	}{
		{[]string{"7"}, false, "1 job would end (7)"},
		{nil, true, "all data of cluster c would be deleted"},
		{[]string{"7", "9"}, true, "2 jobs would end (7, 9), and all data of cluster c would be deleted"},
	} {
		if got := atStake("c", row.jobs, row.delete); got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}

func TestDownQuestion(t *testing.T) {
	for _, c := range []struct {
		jobs       int
		deleteData bool
		want       string
	}{
		{0, false, ""},
		{0, true, "Delete all data of cluster u?"},
		{1, false, "1 job is running or waits. End it and take cluster u down?"},
		{2, true, "2 jobs are running or wait. End them and delete all data of cluster u?"},
	} {
		if got := downQuestion("u", c.jobs, c.deleteData); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestUnfinished(t *testing.T) {
	jobs := []slurm.Job{
		{ID: 1, State: "RUNNING"}, {ID: 2, State: "COMPLETED"}, {ID: 3, State: "COMPLETING"}, {ID: 4, State: "COMPLETING", Again: true},
		{ID: 5, ArrayJobID: 5, ArrayTask: "3-7%2", State: "PENDING"}, {ID: 6, State: "REQUEUE_HOLD"},
	}
	want := []string{"1", "4", "5_[3-7%2]", "6", "one that cannot be read"}
	if got := unfinished(jobs, []slurm.Problem{{}}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
