package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

// addTasks adds the tasks of an array, if that is what the user's ID is: Slurm gives one
// of them the array's number, and shows it alone.
func (j *jobAnswer) addTasks(ctx context.Context, s slurm.Client, id string) error {
	if !strings.HasPrefix(j.Label, id+"_") {
		return nil
	}
	all, err := listJobs(ctx, s, ofJobs(j.ID))
	if err != nil {
		return err
	}
	for _, r := range all.Jobs {
		if strings.HasPrefix(r.Label, id+"_") {
			j.Tasks = append(j.Tasks, r)
		}
	}
	// Who asks for an array wants to know whether all of it is done, and not the one task that has its number.
	for _, r := range j.Tasks {
		j.Ended = j.Ended && slurm.Job{State: r.State}.Ended()
		j.Completed = j.Completed && r.State == "COMPLETED"
	}
	return nil
}

// arrayText counts the tasks of an array by their states.
func (j jobAnswer) arrayText() string {
	if len(j.Tasks) == 0 {
		return ""
	}
	states := map[string]int{}
	var parts []string
	for _, r := range j.Tasks {
		if strings.Contains(r.Label, "[") { // tasks that have not been split off
			parts = append(parts, r.Label+" "+r.State)
			continue
		}
		states[r.State]++
	}
	for _, state := range slices.Sorted(maps.Keys(states)) {
		parts = append(parts, fmt.Sprintf("%d %s", states[state], state))
	}
	return strings.Join(parts, ", ") + "; what follows is of task " + j.Label
}

// writeTasks lists the tasks for people.
func (j jobAnswer) writeTasks(a *app) error {
	if len(j.Tasks) == 0 {
		return nil
	}
	array, _, _ := strings.Cut(j.Label, "_")
	fmt.Fprintf(a.out, "\narray %s, of which this is one:\n", array)
	t := page.Table{{"TASK", "STATE", "TIME", "NODES", "WHERE OR WHY"}}
	for _, r := range j.Tasks {
		where := r.Why
		if where == "" {
			where = r.NodeList
		}
		t.Add(r.Label, r.State, job.Span(r.Elapsed), fmt.Sprint(r.NumNodes), where)
	}
	return t.Write(a.out)
}

// sayTask says which task of an array is shown to whom asked for the array: Slurm gives
// one of them the array's number. Tasks that were not split off have no output.
func (a *app) sayTask(asked string, j slurm.Job) {
	if isArray(asked, j) && !j.Unsplit() {
		a.note("job %s is an array; this is task %s: %s lists them all, and %s prints one's output",
			asked, j.Label(), a.command("job show %s", asked), a.command("job logs %s_TASK", asked))
	}
}

// sayFollowed does so where the task is followed. Of those that were not split off the
// last keeps the number; it is named when it is alone.
func (a *app) sayFollowed(asked string, j slurm.Job) {
	if !isArray(asked, j) {
		return
	}
	this := "; this is task " + j.Label()
	if j.Unsplit() {
		this = fmt.Sprintf(" whose tasks %s wait; this follows the one of them that starts last", j.ArrayTask)
	}
	a.note("job %s is an array%s: %s lists them all, and %s follows another",
		asked, this, a.command("job show %s", asked), a.command("job logs -f %s_TASK", asked))
}

// isArray reports whether the user's ID is the number of an array.
func isArray(asked string, j slurm.Job) bool {
	return j.ArrayJobID != 0 && asked == fmt.Sprint(j.ArrayJobID)
}
