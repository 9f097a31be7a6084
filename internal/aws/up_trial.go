package aws

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// Test says when `up` runs a test job in the end.
type Test string

// A test job runs on nodes that are always on; on others, which cost for it, only if
// it is asked for; or never.
const (
	TestStatic Test = ""
	TestAlways Test = "always"
	TestNever  Test = "never"
)

// Trial is a test job, and what its nodes cost.
type Trial struct {
	Queue        string `json:"queue"`
	Resource     string `json:"resource"`
	InstanceType string `json:"instance_type"`
	Nodes        int    `json:"nodes"`
	// Static says that the nodes are there anyway.
	Static bool `json:"static,omitempty"`
	// USDPerHour is what the nodes cost that start for it, if Known. They end when they
	// have been idle for IdleMinutes.
	USDPerHour  float64 `json:"usd_per_hour,omitempty"`
	Known       bool    `json:"known"`
	IdleMinutes int     `json:"idle_minutes,omitempty"`
}

// testNodes is how many nodes a test job has at most, and testLimit how long it may
// take on nodes that run, testStart on nodes that have to start.
const (
	testNodes = 2
	testLimit = 2 * time.Minute
	testStart = 20 * time.Minute
)

// trialOf is the test job of a cluster, nil for none.
func trialOf(c *spec.Cluster, when Test) *Trial {
	if when == TestNever {
		return nil
	}
	var first *Trial
	for _, q := range c.Scheduling.Queues {
		for _, r := range q.ComputeResources {
			t := &Trial{Queue: q.Name, Resource: r.Name, Nodes: min(testNodes, r.MinCount), Static: true}
			if len(r.InstanceTypes) > 0 {
				t.InstanceType = r.InstanceTypes[0]
			}
			if r.MinCount > 0 {
				return t
			}
			if first == nil && r.MaxCount > 0 {
				t.Static, t.Nodes = false, min(testNodes, r.MaxCount)
				first = t
			}
		}
	}
	if first == nil || when != TestAlways {
		return nil
	}
	first.IdleMinutes = c.Scheduling.Slurm.ScaledownIdleMinutes
	if price, ok := catalog.OnDemand(first.InstanceType); ok {
		first.USDPerHour, first.Known = price.USD*float64(first.Nodes), true
	}
	return first
}

// trial has the head node run the test job.
func (u *up) trial(ctx context.Context) (string, error) {
	t := u.plan.Trial
	if t == nil {
		return u.untested(), nil
	}
	l := headLook{heard: time.Now()}
	if err := u.hear(ctx, &l); err != nil {
		return "", err
	}
	if l.fleet() == "stopped" {
		return stoppedWords, nil
	}
	if t.Static && slices.ContainsFunc(u.later, t.on) {
		return "none: its nodes start when their capacity block begins", nil
	}
	wish := manifest.Trial{ID: rand.Text(), Queue: t.Queue, Nodes: t.Nodes, Constraint: "static&" + t.Resource, LimitSeconds: int(testLimit.Seconds())}
	if !t.Static {
		wish.Constraint, wish.LimitSeconds = t.Resource, int((testStart + u.Workload.BurnInLimit()).Seconds())
	}
	if err := writeJSON(ctx, u.bucket, manifest.TrialKey(u.Name), wish); err != nil {
		return "", err
	}
	limit := time.Duration(wish.LimitSeconds)*time.Second + freshness
	for began, every := time.Now(), lookFirst; ; every = min(every*5/4, lookLast) {
		if err := u.hear(ctx, &l); err != nil {
			return "", err
		}
		if r := l.status.Trial; r != nil && r.ID == wish.ID {
			if u.Tested != nil && r.Error == "" && !r.Busy {
				u.Tested(place.TestJob{Partition: t.Queue, Nodes: r.Nodes})
			}
			return trialInWords(*r, t)
		}
		if time.Since(began) > limit {
			return "", fmt.Errorf("the head node has said nothing of the test job for %s", limit)
		}
		u.Report.Waiting("test job", fmt.Sprintf("%s of queue %s", count.Of(t.Nodes, "node"), t.Queue), time.Since(began))
		if err := pause.For(ctx, every); err != nil {
			return "", err
		}
	}
}

// on tells whether a node is one that the test job may run on.
func (t *Trial) on(node string) bool {
	_, ok := slurm.ParseNodeName(node, func(n slurm.NodeName) bool {
		return n.Queue == t.Queue && n.Name == t.Resource && n.Static == t.Static
	})
	return ok
}

// untested is why there was no test job.
func (u *up) untested() string {
	if u.Test == TestNever {
		return "not asked for"
	}
	return "none: no node is always on, and others cost; --verify runs one"
}

func trialInWords(r manifest.TrialResult, t *Trial) (string, error) {
	switch {
	case r.Error != "":
		return "", errors.New("the test job failed: " + r.Error)
	case r.Busy:
		return fmt.Sprintf("not run: other jobs have the nodes of queue %s", t.Queue), nil
	}
	return fmt.Sprintf("ran on %s after %.0f s", strings.Join(r.Nodes, ", "), r.Seconds), nil
}
