package job

import (
	"slices"

	"github.com/muster-hpc/muster/internal/slurm"
)

// RunsOf are the runs of one job in a history, oldest first.
func RunsOf(history []slurm.Run, id int) []slurm.Run { return byJob(history)[id] }

// byJob are the runs of each job, oldest first.
func byJob(history []slurm.Run) map[int][]slurm.Run {
	jobs := map[int][]slurm.Run{}
	for _, r := range history {
		jobs[r.ID] = append(jobs[r.ID], r)
	}
	for _, runs := range jobs {
		slices.SortStableFunc(runs, func(a, b slurm.Run) int { return a.Submit.Compare(b.Submit) })
	}
	return jobs
}

// JobOf is a job as its runs show it, of which there must be one.
func JobOf(runs []slurm.Run) slurm.Job {
	last := runs[len(runs)-1]
	return slurm.Job{
		ID: last.ID, Name: last.Name, User: last.User, Partition: last.Partition, State: last.State, Reason: last.Reason,
		NodeList: last.NodeList, NumNodes: last.NumNodes, Restarts: len(runs) - 1, ExitCode: last.ExitCode,
		SubmitTime: runs[0].Submit, StartTime: last.Start, EndTime: last.End, WorkDir: last.WorkDir, TRES: last.TRES,
	}
}
