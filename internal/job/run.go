package job

import (
	"slices"
	"time"

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

// jobOf is a job as its runs show it, of which there must be one.
func jobOf(runs []slurm.Run) slurm.Job {
	last := runs[len(runs)-1]
	return slurm.Job{
		ID: last.ID, Name: last.Name, User: last.User, UID: last.UID, Account: last.Account, QOS: last.QOS, Partition: last.Partition, State: last.State, Reason: last.Reason,
		NodeList: last.NodeList, NumNodes: last.NumNodes, Restarts: len(runs) - 1, ExitCode: last.ExitCode,
		SubmitTime: runs[0].Submit, StartTime: last.Start, EndTime: last.End, WorkDir: last.WorkDir, TRES: last.TRES,
	}
}

// Attempts are a job's runs, oldest first: those of the history, and the last
// one as slurmctld knows it, which the history learns of a little later. Runs
// that never started are not among them.
func Attempts(history []slurm.Run, j slurm.Job) []slurm.Run {
	runs := slices.DeleteFunc(RunsOf(history, j.ID), func(r slurm.Run) bool {
		return r.Start.IsZero() || r.NodeList == "" && r.Start.Equal(r.End)
	})
	if j.State == "PENDING" || j.Again || j.Refused() || j.StartTime.IsZero() {
		return runs
	}
	j.StartTime = lastStart(j, runs)
	j.NodeList = nodesOf(j, runs)
	if n := len(runs); n > 0 && runs[n-1].Start.Equal(j.StartTime) {
		if runs[n-1].Ended() {
			runs[n-1].NodeList = j.NodeList
			if theirs := runs[n-1].ExitCode; theirs.Code+shellSignal == j.ExitCode.Code && theirs.Signal == j.ExitCode.Signal {
				runs[n-1].ExitCode = j.ExitCode // sacct shows exit code 137 as 9 (Slurm, src/sacct/print.c, print_exitcode)
			}
			return runs
		}
		runs = runs[:n-1]
	}
	last := slurm.Run{
		ID: j.ID, Label: j.Label(), Name: j.Name, User: j.User, UID: j.UID, Account: j.Account, QOS: j.QOS, Partition: j.Partition, State: j.State, ExitCode: j.ExitCode,
		Submit: j.SubmitTime, Start: j.StartTime, NumNodes: j.NumNodes, NodeList: j.NodeList, TRES: j.TRES, WorkDir: j.WorkDir,
	}
	if j.Ended() {
		last.End = j.EndTime
	}
	return append(runs, last)
}

// lastStart is when a job's last run began, as the history counts: where a job goes on
// without a node that it lost, slurmctld still says when it began with all of them.
func lastStart(j slurm.Job, runs []slurm.Run) time.Time {
	start := j.StartTime
	for _, r := range runs {
		if r.State == "RESIZING" && r.Start.Equal(start) {
			start = r.End
		}
	}
	return start
}

// lastState is Slurm's word for how the last of a job's runs ended, "" if there is none.
func lastState(runs []slurm.Run) string {
	if len(runs) == 0 {
		return ""
	}
	return runs[len(runs)-1].State
}

// nodesOf is the host list of a job's last run. While nodes are released, the lists
// leave out those that are released already, slurmctld for as long as it cleans up and the
// history sometimes for a while after the end: the longer list is the whole one.
func nodesOf(j slurm.Job, runs []slurm.Run) string {
	n := len(runs)
	if n == 0 || !runs[n-1].Start.Equal(j.StartTime) || j.Again {
		return j.NodeList
	}
	mine, _ := slurm.Expand(j.NodeList)
	if theirs, _ := slurm.Expand(runs[n-1].NodeList); len(theirs) > len(mine) {
		return runs[n-1].NodeList
	}
	return j.NodeList
}
