package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/status"
	"github.com/muster-hpc/muster/internal/status/top"
)

// lookout looks at the cluster whose head node this is, again and again, one look at a time.
type lookout struct {
	slurm   slurm.Client
	control client.Client
	// theirs says that muster does not run the cluster's fleet.
	theirs bool
	name   string
	// head is what was seen of services and fleet, which change seldom, at a time.
	head   manifest.ClusterStatus
	headAt time.Time
	err    error
	// curves are those of jobs that nobody keeps.
	curves map[int]*job.Curve
}

func newLookout(s slurm.Client) *lookout {
	return &lookout{slurm: s, control: client.In(services.RunDir), theirs: guest(), curves: map[int]*job.Curve{}}
}

// headEvery is how long what was seen of services and fleet is taken for true.
const headEvery = 10 * time.Second

// logLines is how much of a job's output its page has.
const logLines = 100

// look implements looker.
func (l *lookout) look(ctx context.Context, page int) (top.Look, error) {
	ctx, cancel := slurm.Limited(ctx)
	defer cancel()
	seen := top.Look{At: time.Now(), Jobs: []top.Job{}, Cluster: status.Cluster{Name: l.called(ctx), State: "up"}}
	var group sync.WaitGroup
	var nodes []slurm.Node
	var kept []client.JobReport
	var nodesErr, keptErr error
	group.Go(func() { nodes, nodesErr = l.slurm.Nodes(ctx) })
	group.Go(func() { l.lookAtHead(ctx) })
	if !l.theirs {
		group.Go(func() { kept, keptErr = l.control.Jobs(ctx) })
	}
	queue, odd, err := l.slurm.Jobs(ctx)
	group.Wait()
	if err := errors.Join(err, nodesErr); err != nil {
		return seen, fmt.Errorf("ask Slurm for nodes and jobs: %w", err)
	}
	seen.Cluster.JudgeNodes(nodes)
	if l.theirs || onCloudHead() { // nodes elsewhere are made out of a machine that costs what it costs
		seen.Cost = costOf(nodes)
	}
	seen.Cluster.Jobs = status.CountJobs(queue)
	l.addHead(&seen.Cluster)
	seen.Cluster.Judge()
	for _, p := range odd {
		seen.Blind = append(seen.Blind, fmt.Sprintf("a job: %v", p))
	}
	if keptErr != nil {
		seen.Blind = append(seen.Blind, fmt.Sprintf("the jobs that are kept running: %v", keptErr))
	}
	l.addJobs(&seen, queue, kept, page)
	return seen, nil
}

// costOf adds up what the nodes cost that are on.
func costOf(nodes []slurm.Node) *top.Cost {
	c := &top.Cost{Source: catalog.PriceRegion()}
	for _, n := range nodes {
		if n.State.PoweredDown() {
			continue
		}
		price, known := catalog.OnDemand(typeOf(n))
		if !known {
			c.Unpriced++
			continue
		}
		c.USDPerHour += price.USD
	}
	return c
}

// called is the cluster's name, which is asked for once.
func (l *lookout) called(ctx context.Context) string {
	if l.name == "" {
		if conf, err := l.slurm.Conf(ctx); err == nil {
			l.name = conf["ClusterName"]
		}
	}
	return l.name
}

// lookAtHead asks the controller for services and fleet now and then.
func (l *lookout) lookAtHead(ctx context.Context) {
	if l.theirs || time.Since(l.headAt) < headEvery {
		return
	}
	l.head, l.err = l.control.Status(ctx)
	l.headAt = time.Now()
	if here, err := servicesHere(); len(l.head.Services) == 0 && err == nil {
		l.head.Services = here
	}
}

// addHead adds what is known of services and fleet. The controller answers not every user.
func (l *lookout) addHead(c *status.Cluster) {
	for _, x := range l.head.Services {
		phase := status.Ready
		if !x.Ready {
			phase = "not ready"
		}
		c.Services = append(c.Services, status.Service{Name: x.Name, Phase: phase})
	}
	switch {
	case l.theirs:
	case client.Refused(l.err):
	case l.err != nil:
		c.Unseen("the controller: %v", l.err)
	case l.head.Fleet != "running":
		c.Needs("the fleet is %s: %s", l.head.Fleet, l.head.Why)
	}
}

// addJobs adds the jobs that have not ended.
func (l *lookout) addJobs(seen *top.Look, queue []slurm.Job, kept []client.JobReport, page int) {
	reports, rows := map[int]*client.JobReport{}, map[int]job.Row{}
	for i := range kept {
		reports[kept[i].ID] = &kept[i]
	}
	for _, r := range job.Rows(queue, nil, seen.At) {
		rows[r.ID] = r
	}
	curves := map[int]*job.Curve{}
	for _, j := range queue {
		if j.Ended() {
			continue
		}
		to := top.Job{Row: rows[j.ID], Kept: reports[j.ID], Stdout: j.StdOut, GivesWay: job.GivesWay(j)}
		if !to.Start.IsZero() && !j.EndTime.IsZero() && j.TimeLimit > 0 {
			to.LeftSeconds = int(max(0, j.EndTime.Sub(seen.At)) / time.Second)
		}
		if to.Kept == nil && !to.Start.IsZero() && j.StdOut != "" {
			curves[j.ID] = l.curve(j)
			to.Samples = samplesOf(curves[j.ID].Samples)
		}
		if j.ID == page && job.Started(j) {
			to.Log = logOf(j.StdOut, j.UID)
		}
		seen.Jobs = append(seen.Jobs, to)
	}
	l.curves = curves // those of jobs that ended go
}

// curve is what the job's output says by now. What this user may not read has none.
func (l *lookout) curve(j slurm.Job) *job.Curve {
	c := l.curves[j.ID]
	if c == nil || c.Path != j.StdOut && c.Path != j.StdErr || c.UID != j.UID {
		c = &job.Curve{Path: j.StdOut, UID: j.UID}
	}
	if err := c.Look(); err != nil {
		c = &job.Curve{Path: j.StdOut, UID: j.UID}
	}
	if len(c.Samples) == 0 && j.StdErr != "" && j.StdErr != j.StdOut { // where bars go, and Composer's lines
		if other := (&job.Curve{Path: j.StdErr, UID: j.UID}); other.Look() == nil && len(other.Samples) > 0 {
			return other
		}
	}
	return c
}

// logOf is the end of a job's output, or why there is none.
func logOf(path string, uid int) []string {
	lines, err := job.LastLines(path, uid, logLines)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return []string{err.Error()}
	}
	return lines
}

// samplesOf are lines of progress as JSON can carry them.
func samplesOf(all []trainlog.Sample) []client.JobSample {
	some := make([]client.JobSample, len(all))
	for i, s := range all {
		some[i] = client.SampleOf(s, s.Time)
	}
	return some
}
