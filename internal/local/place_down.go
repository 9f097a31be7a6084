package local

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Down implements place.Cluster.
func (c cluster) Down(ctx context.Context, o place.DownOptions) (place.Answer, error) {
	if !c.there() {
		if o.DeleteData { // it suggests no other cluster's data
			return place.Answer{}, fault.Coded(fault.CodeUnknown, "there is no cluster %s, and no data of it", c.Name)
		}
		return place.Answer{}, c.talk.None(c.Name)
	}
	down := DownOptions{Ref: c.Ref, DeleteData: o.DeleteData, Report: c.talk.Report()}
	if err := down.removable(); err != nil {
		return place.Answer{}, err
	}
	if !o.Yes {
		if err := c.confirmDown(ctx, o.DeleteData); err != nil {
			return place.Answer{}, err
		}
	}
	return Down(ctx, down)
}

// confirmDown asks before something is lost.
func (c cluster) confirmDown(ctx context.Context, deleteData bool) error {
	jobs, err := c.jobsToLose(ctx)
	if err != nil {
		fmt.Fprintf(c.talk.Out(), "muster: Slurm does not answer, so the jobs of cluster %s are unknown\n", c.Name)
	}
	question := downQuestion(c.Name, len(jobs), deleteData)
	if question == "" {
		return nil
	}
	err = c.talk.Confirm(question)
	if fault.Is(err, fault.CodeQuestion) {
		return fault.Usage(fmt.Errorf("%s: %w", atStake(c.Name, jobs, deleteData), err))
	}
	return err
}

// atStake says what would be lost, where there is no terminal to ask.
func atStake(name string, jobs []string, deleteData bool) string {
	var lost []string
	if len(jobs) > 0 {
		lost = append(lost, fmt.Sprintf("%s would end (%s)", count.Of(len(jobs), "job"), strings.Join(jobs, ", ")))
	}
	if deleteData {
		lost = append(lost, "all data of cluster "+name+" would be deleted")
	}
	return strings.Join(lost, ", and ")
}

// downQuestion is what to ask before a cluster is taken down, "" if nothing is
// lost by it.
func downQuestion(name string, jobs int, deleteData bool) string {
	switch {
	case jobs > 0 && deleteData:
		return endThem(jobs) + " and delete all data of cluster " + name + "?"
	case jobs > 0:
		return endThem(jobs) + " and take cluster " + name + " down?"
	case deleteData:
		return "Delete all data of cluster " + name + "?"
	}
	return ""
}

func endThem(jobs int) string {
	if jobs == 1 {
		return "1 job is running or waits. End it"
	}
	return count.Of(jobs, "job") + " are running or wait. End them"
}

// jobsWait is how long Slurm may take to say which jobs there are.
const jobsWait = 3 * time.Second

// jobsToLose are the jobs that would be lost, and says what it waits for where that
// takes long.
func (c cluster) jobsToLose(ctx context.Context) (jobs []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobsWait)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		jobs, err = askForJobs(ctx, c.Ref)
	}()
	select {
	case <-done:
	case <-time.After(jobsWait / 6):
		fmt.Fprintf(c.talk.Out(), "muster: asking Slurm which jobs there are, for %.0f s at most\n", jobsWait.Seconds())
		<-done
	}
	return jobs, err
}

func askForJobs(ctx context.Context, ref Ref) ([]string, error) {
	l := ref.Layout()
	anchor, alive := l.Alive()
	if !alive {
		return nil, nil
	}
	jobs, problems, err := slurmOf(l, anchor).Jobs(ctx)
	return unfinished(jobs, problems), err
}

// unfinished are the jobs that would lose work. A job that is completing has ended, unless
// it is queued again then. A job that cannot be read is counted.
func unfinished(jobs []slurm.Job, problems []slurm.Problem) []string {
	var labels []string
	for _, j := range jobs {
		if !j.Ended() && (j.State != "COMPLETING" || j.Again) {
			labels = append(labels, j.Label())
		}
	}
	for range problems {
		labels = append(labels, "one that cannot be read")
	}
	return labels
}
