package fleet_test

import (
	"cmp"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/fleet"
)

func TestRequeues(t *testing.T) {
	at := func(s float64) time.Time { return now.Add(time.Duration(s * float64(time.Second))) }
	// The node was seen at 10, ended after that, was missed at 12, and Slurm knew
	// at 12.5.
	loss := fleet.Loss{Node: "n-1", Alive: at(10.3), Noticed: at(12.1), Told: at(12.5)}
	untold := loss
	untold.Told = time.Time{}
	job := func(change func(*fleet.Job)) fleet.Job {
		j := fleet.Job{ID: 7, Nodes: []string{"n-0", "n-1"}, Failed: true, Requeue: true, Started: at(0), Ended: at(12)}
		change(&j)
		j.Host = cmp.Or(j.Host, j.Nodes[0])
		return j
	}
	running := func(j *fleet.Job) { j.Failed, j.Running = false, true }
	again := []fleet.Requeue{{Job: 7, Nodes: []string{"n-1"}, Reason: "job 7 failed because it lost a node"}}
	for _, row := range []struct {
		name   string
		losses []fleet.Loss
		job    fleet.Job
		want   []fleet.Requeue
	}{
		{"failed_before_slurm_knew", []fleet.Loss{loss}, job(func(*fleet.Job) {}), again},
		{"failed_while_slurm_does_not_know", []fleet.Loss{untold}, job(func(j *fleet.Job) { j.Ended = at(99) }), again},
		{"failed_in_the_second_of_the_loss", []fleet.Loss{loss}, job(func(j *fleet.Job) { j.Ended = at(10) }), again},
		{"failed_before_the_loss", []fleet.Loss{loss}, job(func(j *fleet.Job) { j.Ended = at(9) }), nil},
		{"failed_long_after_slurm_knew", []fleet.Loss{loss}, job(func(j *fleet.Job) { j.Ended = at(14) }), nil},
		{"did_not_fail", []fleet.Loss{loss}, job(func(j *fleet.Job) { j.Failed = false }), nil},
		{"not_to_be_requeued", []fleet.Loss{loss}, job(func(j *fleet.Job) { j.Requeue = false }), nil},
		{"on_other_nodes", []fleet.Loss{loss}, job(func(j *fleet.Job) { j.Nodes = []string{"n-10"} }), nil},
		{"requeued_for_this_loss_already", []fleet.Loss{loss}, job(func(j *fleet.Job) { j.Started, j.Ended = at(13), at(13) }), nil},
		{"failed_by_itself_and_said_so", []fleet.Loss{loss}, job(func(j *fleet.Job) { j.Nodes = []string{"n-1"} }), nil},
		{"failed_by_itself_on_the_first_of_two", []fleet.Loss{loss}, job(func(j *fleet.Job) { j.Nodes = []string{"n-1", "n-2"} }), nil},
		{"killed_by_a_machine_that_shuts_down", []fleet.Loss{loss}, job(func(j *fleet.Job) { j.Nodes, j.Killed = []string{"n-1"}, true }), again},
		{"no_loss", nil, job(func(*fleet.Job) {}), nil},
		{"runs_on_without_the_node_of_its_script", nil, job(func(j *fleet.Job) { running(j); j.Host = "n-9" }),
			[]fleet.Requeue{{Job: 7, Nodes: []string{"n-9"}, Reason: "job 7 lost the node of its script"}}},
		{"runs_on_so_and_is_not_to_be_requeued", nil, job(func(j *fleet.Job) { running(j); j.Host, j.Requeue = "n-9", false }),
			[]fleet.Requeue{{Job: 7, Nodes: []string{"n-9"}, Cancel: true, Reason: "job 7 lost the node of its script"}}},
		{"runs_on_without_another", []fleet.Loss{{Node: "n-9", Alive: at(10), Noticed: at(12), Told: at(12)}}, job(running), nil},
		{"same_loss_twice", []fleet.Loss{loss, loss}, job(func(*fleet.Job) {}), again},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := gocmp.Diff(row.want, fleet.Requeues(row.losses, []fleet.Job{row.job})); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
	t.Run("two_nodes_lost", func(t *testing.T) {
		other := loss
		other.Node = "n-0"
		want := []fleet.Requeue{{Job: 7, Nodes: []string{"n-0", "n-1"}, Reason: "job 7 failed because it lost a node"}}
		killed := job(func(j *fleet.Job) { j.Killed = true })
		if diff := gocmp.Diff(want, fleet.Requeues([]fleet.Loss{loss, other}, []fleet.Job{killed})); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
	})
}
