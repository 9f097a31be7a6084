package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// How long a head node may be silent, and a revision or static nodes may take.
const (
	headSilence = 15 * time.Minute
	staticLimit = 30 * time.Minute
	lookFirst   = 200 * time.Millisecond
	lookLast    = 4 * time.Second
)

// headLook is how the head node is looked at: what it said last, and since when it
// is silent.
type headLook struct {
	status manifest.HeadStatus
	heard  time.Time
	// told are the steps of its boot that were told.
	told map[string]manifest.Step
	// fresh says that the word is no old one: by its time, or because a newer one came
	// while we looked.
	fresh bool
	// asked is a step that is told however short it is.
	asked string
}

// head waits until the head node runs this revision, and shows its boot.
func (u *up) head(ctx context.Context) (string, error) {
	l := headLook{heard: time.Now()}
	if len(u.plan.Accounts) > 0 {
		l.asked = manifest.SetAccounts
	}
	limit, began, every := cmp.Or(u.HeadSilence, headSilence), time.Now(), lookFirst
	for {
		if err := u.hear(ctx, &l); err != nil {
			return "", err
		}
		switch s := l.status; {
		case s.Phase == manifest.Failed && s.Revision != u.site.Revision && s.Revision != "":
			// an older failure: the head node tries the new revision
		case l.fresh && s.Phase == manifest.Failed:
			return "", headFailure(s)
		case l.fresh && s.Phase == manifest.Ready && s.Revision == u.site.Revision && u.runs(s):
			if s.AccountsError != "" {
				return "", fmt.Errorf("the cluster works, but %s; once that is settled, the head node sets them by itself", s.AccountsError)
			}
			return fmt.Sprintf("%s runs revision %s with muster %s", s.InstanceID, s.Revision, s.Version), nil
		}
		if time.Since(l.heard) > limit {
			return "", u.silent(ctx, l, limit)
		}
		u.Report.Waiting("head node", l.waiting(), time.Since(began))
		if err := pause.For(ctx, every); err != nil {
			return "", err
		}
		every = min(every*5/4, lookLast)
	}
}

// hear reads what the head node says and tells of the steps of its boot.
func (u *up) hear(ctx context.Context, l *headLook) error {
	var s manifest.HeadStatus
	err := readJSON(ctx, u.bucket, manifest.HeadKey(u.Name), &s)
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
		l.told = nil
	}
	l.status = s
	for _, step := range l.news(u.site.Revision) {
		u.Report.Note(strings.TrimSuffix(fmt.Sprintf("head node, %.1f s: %s: %s", step.Seconds, step.Name, step.Detail), ": "))
	}
	return nil
}

// worthTelling is how long a step of a boot takes that is worth a line.
const worthTelling = time.Second

// news are the steps for a revision that were done since the last look and took time.
// Those of a head node that had come up before the first look are no news.
func (l *headLook) news(revision string) []manifest.Step {
	first := l.told == nil
	if first {
		l.told = map[string]manifest.Step{}
	}
	var all []manifest.Step
	for _, step := range l.status.Steps {
		of := step.Revision
		step.Revision = "" // known later than the step is done
		if !step.Done || l.told[step.Name] == step {
			continue
		}
		l.told[step.Name] = step
		// What runs already was not waited for. Before a revision is read, or from an older
		// muster, a step says of none.
		old := first && (l.status.Revision == revision || of == "" && l.status.Revision != "")
		if !old && (of == "" || of == revision) && (step.Seconds >= worthTelling.Seconds() || step.Name == l.asked) {
			all = append(all, step)
		}
	}
	return all
}

// runs says that the head node has taken up the build of muster that it is to run.
func (u *up) runs(s manifest.HeadStatus) bool {
	want := u.facts.Programs[u.facts.Images[""].Arch].SHA256
	return s.Program == "" || s.Program == want
}

// waiting is what the head node does.
func (l headLook) waiting() string {
	s := l.status
	switch {
	case s.At.IsZero():
		return "its first word"
	case s.Phase == manifest.Booting && len(s.Steps) > 0 && !s.Steps[len(s.Steps)-1].Done:
		return s.Steps[len(s.Steps)-1].Name
	case !l.fresh:
		return "a newer word than that of " + s.At.Format(time.RFC3339)
	case s.Phase == manifest.Ready:
		return "the new revision"
	}
	return string(s.Phase)
}

// headFailure is why a head node did not come up, with the end of its log.
func headFailure(s manifest.HeadStatus) error {
	text := fmt.Sprintf("the head node %s did not come up: %s", s.InstanceID, s.Error)
	if len(s.LogTail) > 0 {
		text += "\n  " + strings.Join(s.LogTail, "\n  ")
	}
	return errors.New(text)
}

// consoleLines is how much of a console is shown.
const consoleLines = 20

// silent is the error of a head node that does not report: with the end of its console,
// and how to look.
func (u *up) silent(ctx context.Context, l headLook, limit time.Duration) error {
	id := l.status.InstanceID
	instances, err := u.Account.Instances(ctx, u.Name)
	for _, i := range instances {
		if i.Role == manifest.RoleHead && !i.Gone() {
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
	first := time.Time{} // of the words that were there before we looked
	for {
		if err := u.hear(ctx, &l); err != nil {
			return "", err
		}
		have := l.static(want)
		u.later = have.Later
		if have.Ready+len(have.Later) >= want {
			return answerWords(have), nil
		}
		if first.IsZero() {
			first = l.status.At
		}
		newer := !l.status.At.Equal(first)
		if newer && l.fleet() == "stopped" {
			return stoppedWords, nil
		}
		if waited := time.Since(began); waited > staticLimit+u.Workload.BurnInLimit() || newer && l.fleet() == "protected" {
			return "", missingNodes(l.status.Cluster, have, want, waited)
		}
		u.Report.Waiting("static nodes", staticWords(have, want)+spec.BurnInWords(u.Workload.BurnInLimit()), time.Since(began))
		if err := pause.For(ctx, every); err != nil {
			return "", err
		}
		every = min(every*5/4, lookLast)
	}
}

// stoppedWords say why no node is waited for.
const stoppedWords = "none: the fleet is stopped; `muster fleet start` lets nodes start"

// fleet is how the head node says that the fleet stands: running, stopped or protected.
func (l headLook) fleet() string {
	if l.status.Cluster == nil {
		return ""
	}
	return l.status.Cluster.Fleet
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

// static are the nodes that are always on, as the head node says that they are. What it
// says of an older file is no news.
func (l headLook) static(want int) manifest.StaticNodes {
	if c := l.status.Cluster; c != nil && c.Static != nil && c.Static.Want == want {
		return *c.Static
	}
	return manifest.StaticNodes{}
}

func answerWords(have manifest.StaticNodes) string {
	text := fmt.Sprintf("all %d answer", have.Ready)
	switch have.Ready {
	case 0:
		text = "none answers yet"
	case 1:
		text = "1 answers"
	}
	if n := len(have.Later); n > 0 {
		text = fmt.Sprintf("%s, %d start when their capacity block begins: %s", text, n, strings.Join(have.Later, ", "))
	}
	return text
}

// staticWords name the nodes that are waited for.
func staticWords(have manifest.StaticNodes, want int) string {
	text := fmt.Sprintf("%d of %d to answer", want-have.Ready, want)
	if len(have.Missing) > 0 {
		text += ": " + strings.Join(have.Missing, "; ")
	}
	return text
}

func missingNodes(c *manifest.ClusterStatus, have manifest.StaticNodes, want int, waited time.Duration) error {
	var why []string
	if c != nil {
		why = c.Look
		if c.Why != "" {
			why = append([]string{"the fleet is " + c.Fleet + ": " + c.Why}, why...)
		}
	}
	why = slices.Concat(have.Missing, why)
	text := fmt.Sprintf("%d of %s that are always on answer after %s", have.Ready, count.Of(want, "node"), waited.Round(time.Second))
	if len(why) > 0 {
		text += ": " + strings.Join(why, "; ")
	}
	return errors.New(text)
}
