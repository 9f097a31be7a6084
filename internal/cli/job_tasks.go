package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

// addTasks adds the tasks of an array, if that is what the user's ID is: Slurm gives one
// of them the array's number, and shows it alone.
func (j *jobAnswer) addTasks(ctx context.Context, s slurm.Client, id string) error {
	if !strings.HasPrefix(j.Label, id+"_") {
		return nil
	}
	all, err := listJobs(ctx, s, everything(j.ID))
	if err != nil {
		return err
	}
	for _, r := range all.Jobs {
		if strings.HasPrefix(r.Label, id+"_") {
			j.Tasks = append(j.Tasks, r)
		}
	}
	slices.SortFunc(j.Tasks, func(x, y job.Row) int {
		return cmp.Or(cmp.Compare(len(x.Label), len(y.Label)), strings.Compare(x.Label, y.Label))
	})
	return nil
}

// writeTasks lists the tasks for people.
func (j jobAnswer) writeTasks(a *app) error {
	if len(j.Tasks) == 0 {
		return nil
	}
	array, _, _ := strings.Cut(j.Label, "_")
	fmt.Fprintf(a.out, "\narray %s, of which this is one:\n", array)
	t := table{{"TASK", "STATE", "TIME", "NODES", "WHERE OR WHY"}}
	for _, r := range j.Tasks {
		where := r.Why
		if where == "" {
			where = r.NodeList
		}
		t.add(r.Label, r.State, job.Span(r.Elapsed), fmt.Sprint(r.NumNodes), where)
	}
	return t.write(a.out)
}
