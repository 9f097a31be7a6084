package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/site"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
)

// How long a head node may say nothing, and a revision or static nodes may take.
const (
	headSilence = 15 * time.Minute
	staticLimit = 30 * time.Minute
	lookFirst   = 200 * time.Millisecond
	lookLast    = 4 * time.Second
)

// headLook is how the head node is looked at: what it said last, and since when it
// says nothing new.
type headLook struct {
	status site.HeadStatus
	heard  time.Time
	told   int
	// fresh says that the word is no old one: by its time, or because a newer one came
	// while we looked.
	fresh bool
}

// head waits until the head node runs this revision, and shows its boot.
func (u *up) head(ctx context.Context) (string, error) {
	l := headLook{heard: time.Now()}
	limit, began, every := cmp.Or(u.HeadSilence, headSilence), time.Now(), lookFirst
	for {
		if err := u.hear(ctx, &l); err != nil {
			return "", err
		}
		switch s := l.status; {
		case s.Phase == site.Failed && s.Revision != u.site.Revision && s.Revision != "":
			// an older failure: the head node tries the new revision
		case l.fresh && s.Phase == site.Failed:
			return "", headFailure(s)
		case l.fresh && s.Phase == site.Ready && s.Revision == u.site.Revision:
			return fmt.Sprintf("%s runs revision %s", s.InstanceID, s.Revision), nil
		}
		if time.Since(l.heard) > limit {
			return "", u.silent(ctx, l, limit)
		}
		u.Report.Waiting("head node", l.waiting(), time.Since(began))
		if err := pause(ctx, every); err != nil {
			return "", err
		}
		every = min(every*5/4, lookLast)
	}
}

// hear reads what the head node says and tells of the steps of its boot.
func (u *up) hear(ctx context.Context, l *headLook) error {
	var s site.HeadStatus
	err := readJSON(ctx, u.bucket, site.HeadKey(u.Name), &s)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !s.At.Equal(l.status.At) {
		l.fresh = !l.status.At.IsZero() || time.Since(s.At) < freshness
		l.heard = time.Now()
	}
	if s.InstanceID != l.status.InstanceID {
		l.told = 0
	}
	l.status = s
	if s.Phase != site.Booting {
		return nil
	}
	for ; l.told < len(s.Steps) && s.Steps[l.told].Done; l.told++ {
		step := s.Steps[l.told]
		u.Report.Note(strings.TrimSuffix(fmt.Sprintf("head node, %.1f s: %s: %s", step.Seconds, step.Name, step.Detail), ": "))
	}
	return nil
}

// waiting is what the head node does.
func (l headLook) waiting() string {
	s := l.status
	switch {
	case s.At.IsZero():
		return "its first word"
	case l.told < len(s.Steps):
		return s.Steps[l.told].Name
	case !l.fresh:
		return "a newer word than that of " + s.At.Format(time.RFC3339)
	case s.Phase == site.Ready:
		return "the new revision"
	}
	return string(s.Phase)
}

// headFailure is why a head node did not come up, with the end of its log.
func headFailure(s site.HeadStatus) error {
	text := fmt.Sprintf("the head node %s did not come up: %s", s.InstanceID, s.Error)
	if len(s.LogTail) > 0 {
		text += "\n  " + strings.Join(s.LogTail, "\n  ")
	}
	return errors.New(text)
}

// consoleLines is how much of a console is shown.
const consoleLines = 20

// silent is the error of a head node that says nothing: with the end of its console,
// and how to look.
func (u *up) silent(ctx context.Context, l headLook, limit time.Duration) error {
	id := l.status.InstanceID
	instances, err := u.Account.Instances(ctx, u.Name)
	for _, i := range instances {
		if i.Role == site.RoleHead && !i.Gone() {
			id = i.ID
		}
	}
	if id == "" {
		return errors.Join(fmt.Errorf("there is no head node that says anything, for %s: look at stack %s", limit, u.Name), err)
	}
	text := fmt.Sprintf("the head node %s has said nothing for %s: look with `aws ssm start-session --target %s` and `journalctl -u cloud-final`, or `aws ec2 get-console-output --latest --instance-id %s`",
		id, limit, id, id)
	console, err := u.Account.Console(ctx, id)
	if err != nil {
		return fmt.Errorf("%s (%w)", text, err)
	}
	if tail := strings.Split(strings.TrimSpace(console), "\n"); tail[0] != "" {
		text += "\n  " + strings.Join(tail[max(0, len(tail)-consoleLines):], "\n  ")
	}
	return errors.New(text)
}

// static waits until as many nodes answer as should always be there.
func (u *up) static(ctx context.Context) (string, error) {
	want := staticNodes(u.File.Cluster)
	if want == 0 {
		return "none in the file", nil
	}
	l := headLook{heard: time.Now()}
	began, every := time.Now(), lookFirst
	for {
		if err := u.hear(ctx, &l); err != nil {
			return "", err
		}
		have := answering(l.status.Cluster)
		if have >= want {
			return fmt.Sprintf("%d answer", want), nil
		}
		if time.Since(began) > staticLimit {
			return "", missingNodes(l.status.Cluster, have, want)
		}
		u.Report.Waiting("static nodes", fmt.Sprintf("%d of %d answer", have, want), time.Since(began))
		if err := pause(ctx, every); err != nil {
			return "", err
		}
		every = min(every*5/4, lookLast)
	}
}

func staticNodes(c *spec.Cluster) int {
	n := 0
	for _, q := range c.Scheduling.Queues {
		for _, r := range q.ComputeResources {
			n += r.MinCount
		}
	}
	return n
}

// answering are the nodes that are up, whatever they do.
func answering(c *site.ClusterStatus) int {
	n := 0
	if c != nil {
		for _, state := range []string{"idle", "mixed", "allocated", "completing", "planned", "reserved"} {
			n += c.Nodes[state]
		}
	}
	return n
}

func missingNodes(c *site.ClusterStatus, have, want int) error {
	text := fmt.Sprintf("%d of %d static nodes answer after %s", have, want, staticLimit)
	if c != nil && len(c.Look) > 0 {
		text += ": " + strings.Join(c.Look, "; ")
	}
	return errors.New(text)
}
