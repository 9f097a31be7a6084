package fleet

import (
	"fmt"
	"slices"
	"time"
)

// Loss is the end of an instance that was not asked for.
type Loss struct {
	Node string
	// Alive is when it was last seen, Noticed when we knew that it had ended.
	Alive, Noticed time.Time
	// Told is when Slurm knew; zero is not yet.
	Told time.Time
}

// Job is a job in Slurm's words.
type Job struct {
	ID int
	// Nodes are its last run's, without those that it lost and went on without.
	Nodes []string
	// Host is the node that ran its script and told how that ended.
	Host string
	// Running says that Slurm takes it for running.
	Running bool
	// Failed says that it ended by its own exit code, and was not cancelled or ended by
	// Slurm.
	Failed bool
	// Killed says that a signal ended it, as a machine's that shuts down.
	Killed bool
	// Requeue says that it is a batch job that its user lets run again.
	Requeue bool
	// Started and Ended are the last run's, in whole seconds.
	Started, Ended time.Time
}

// Requeue is a job that is to run again, or that is to end because its user does not let it.
type Requeue struct {
	Job    int
	Nodes  []string // those that it lost
	Cancel bool
	Reason string
}

// slurmGrain is how exactly Slurm tells the time.
const slurmGrain = time.Second

// Requeues finds the jobs whose script failed in the moment between the end of a
// node and Slurm being told. Slurm requeues the jobs of a node that it knows to
// be lost; those it takes for failed by themselves. A job that was requeued
// starts after the loss, so each loss requeues it once at most.
//
// And it finds those that hold their other nodes for nothing since they lost the node of
// their script.
func Requeues(losses []Loss, jobs []Job) []Requeue {
	var all []Requeue
	for _, j := range jobs {
		if j.orphan() {
			all = append(all, Requeue{Job: j.ID, Nodes: []string{j.Host}, Cancel: !j.Requeue, Reason: fmt.Sprintf("job %d lost the node of its script", j.ID)})
		}
		if !j.Failed || !j.Requeue {
			continue
		}
		var lost []string
		for _, l := range losses {
			if slices.Contains(j.Nodes, l.Node) && !slices.Contains(lost, l.Node) && l.hit(j) && !j.outlived(l) {
				lost = append(lost, l.Node)
			}
		}
		if len(lost) > 0 {
			slices.Sort(lost)
			all = append(all, Requeue{Job: j.ID, Nodes: lost, Reason: fmt.Sprintf("job %d failed because it lost a node", j.ID)})
		}
	}
	return all
}

// orphan tells whether the job has lost its script. With --no-kill Slurm takes a lost node
// out of a job, also the one that runs the script, and calls the job running until its time
// is over.
func (j Job) orphan() bool { return j.Running && j.Host != "" && !slices.Contains(j.Nodes, j.Host) }

// outlived tells whether the node's loss cannot have been why the job failed: the
// node told itself how its script ended, and was alive then.
func (j Job) outlived(l Loss) bool { return l.Node == j.Host && !j.Killed }

// hit tells whether the job may have run when the instance ended, and failed
// before Slurm knew.
func (l Loss) hit(j Job) bool {
	ran := !j.Started.After(l.Noticed) && !j.Ended.Before(l.Alive.Truncate(slurmGrain))
	return ran && (l.Told.IsZero() || !j.Ended.After(l.Told.Add(slurmGrain)))
}
