package local

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// removable refuses to take away nodes that run jobs. It is called before the user is
// asked, and again before the change.
func (o UpOptions) removable(ctx context.Context) error {
	l := o.Ref.Layout()
	anchor, alive := l.Alive()
	if !alive {
		return nil
	}
	have, err := l.Addresses()
	if err != nil {
		return err
	}
	record, err := l.Record()
	if err != nil {
		return err
	}
	stay := append(plan.NodeNames(o.File), record.HeadName)
	gone := func(node string) bool {
		_, was := have[node]
		return was && !slices.Contains(stay, node)
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(have)), gone) {
		return nil
	}
	// A job that is ending leaves its nodes within moments.
	ctx, cancel := context.WithTimeout(ctx, endingLimit)
	defer cancel()
	for {
		jobs, err := slurmOf(l, anchor).Queue(ctx)
		if err != nil {
			return fmt.Errorf("see which nodes are in use: %w", err)
		}
		users, err := usersOf(jobs, gone)
		if err != nil || len(users) == 0 {
			return err
		}
		if !users[0].ending || pause.For(ctx, 100*time.Millisecond) != nil {
			return inUse(users)
		}
	}
}

// inUse names the jobs that nodes cannot go for, and how to be rid of them.
func inUse(users []nodeUser) error {
	if len(users) == 1 {
		u := users[0]
		return fmt.Errorf("the file no longer has node %s, but job %s runs on it: wait for it, or `muster job cancel %s`", u.node, u.job, u.job)
	}
	var where, jobs []string
	for _, u := range users {
		where, jobs = append(where, "job "+u.job+" on "+u.node), append(jobs, u.job)
	}
	return fmt.Errorf("the file no longer has nodes that jobs run on (%s): wait for them, or `muster job cancel %s`",
		strings.Join(where, ", "), strings.Join(jobs, " "))
}

// endingLimit is how long a job may take to end before a change is refused for it.
const endingLimit = 10 * time.Second

// nodeUser is a job that has a node, or is just leaving it.
type nodeUser struct {
	job, node string
	ending    bool
}

// usersOf finds the jobs that have certain nodes: those that stay, or else those that are
// ending.
func usersOf(jobs []slurm.Queued, certain func(node string) bool) (stay []nodeUser, err error) {
	var ending []nodeUser
	for _, j := range jobs {
		nodes, err := slurm.Expand(j.NodeList)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(nodes, certain)
		switch {
		case i < 0:
		case j.State == "COMPLETING":
			ending = append(ending, nodeUser{job: strconv.Itoa(j.ID), node: nodes[i], ending: true})
		default:
			stay = append(stay, nodeUser{job: strconv.Itoa(j.ID), node: nodes[i]})
		}
	}
	if len(stay) == 0 {
		return ending, nil
	}
	return stay, nil
}
