package keeper

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/policy"
)

// hang is why a run is thought to hang.
type hang struct {
	Since   time.Time     `json:"since"`
	Limit   time.Duration `json:"limit"`
	Why     string        `json:"why"`
	Ranks   []string      `json:"ranks,omitempty"`
	Capture string        `json:"capture,omitempty"`
	// RAS is what NCCL says of the ranks, nil if it cannot be asked.
	RAS *cause.Ranks `json:"ras,omitempty"`
}

// slow is why a run is told of that is silent, and does not hang as far as one can see. Last is its last line of progress.
type slow struct {
	hang
	Last time.Time `json:"last,omitzero"`
}

// limit is how long the job may go on now as it does, and since when that counts. 0 is for ever.
//
// Where the user says how long, lines of progress alone count. Else what the job writes besides
// is a sign of life, for as long as two more limits: a program that only says that it waits hangs.
func (r *record) limit() (limit time.Duration, since time.Time) {
	p := r.Policy
	if p.Hang.Off || r.Run == nil || !running(r.job) {
		return 0, time.Time{}
	}
	begins := r.Run.Last.IsZero()
	if since = later(r.Run.Start, r.Run.Last); begins && p.StartUp > 0 {
		return time.Duration(p.StartUp), later(since, r.Run.Alive)
	}
	if !begins && p.Hang.Limit > 0 {
		return p.Hang.Limit, later(since, r.Run.Alive)
	}
	if limit = r.Rhythm.silence(r.Run.Step, r.least()); begins {
		limit = max(r.Rhythm.startUp(), p.Hang.Limit)
	}
	alive := later(r.Run.Wrote, r.Run.Alive)
	if last := since.Add(2 * limit); alive.After(last) && len(r.Samples) > 0 {
		alive = last
	}
	return limit, later(since, alive)
}

// least is how long the job may be silent at least where its rhythm says how long.
func (r *record) least() time.Duration {
	if least := r.Policy.Hang.Least; least > 0 {
		return least
	}
	return shortestSilence
}

// wished says that the user said how long the job may be silent now. That is obeyed, whatever the job does.
func (r *record) wished() bool {
	if r.Run.Last.IsZero() {
		return r.Policy.StartUp > 0
	}
	return r.Policy.Hang.Limit > 0
}

// watch looks whether a run hangs, and does what is wished then. Where the job's rhythm says that it may, its processes have
// to say so, too: an evaluation can be many times as long as a step.
func (k *Keeper) watch(ctx context.Context, r *record, now time.Time) error {
	if r.job.State == "SUSPENDED" {
		r.Run.Alive = now
		r.forgetLooks()
		return nil
	}
	limit, since := r.limit()
	if limit == 0 || now.Sub(since) <= limit || len(r.deaf) > 0 || r.behind() {
		r.forgetLooks()
		return k.heard(r)
	}
	if r.Run.Hang != nil {
		return nil
	}
	got := k.looked(ctx, r, now)
	if got == nil {
		return nil
	}
	seen, reports := got.look, got.reports
	h := &hang{Since: since, Limit: limit, Why: silence(r, now.Sub(since), limit)}
	if r.wished() {
		h.RAS = ranksSaid(look{}, seen, reports)
		return k.hangs(ctx, r, h, finding{*got, stands, ""}, now)
	}
	r.looks = more(r.looks, seen)
	verdict, why := weigh(r.looks, limit)
	r.nextLook = now.Add(pauseAfter(r.looks, limit))
	f := finding{*got, verdict, why}
	if n := len(r.looks); n > 1 {
		h.RAS = ranksSaid(r.looks[n-2], seen, reports)
	}
	if verdict == unclear || verdict == comesOn {
		return k.slows(ctx, r, h, f)
	}
	return k.hangs(ctx, r, h, f, now)
}

// heard takes back what was said of a run that goes on: it does so with a line of progress, or nobody wants to know any more.
func (k *Keeper) heard(r *record) error {
	h, s := r.Run.Hang, r.Run.Slow
	went := h != nil && r.Run.Last.After(h.Since) || s != nil && r.Run.Last.After(s.Last)
	if h == nil && s == nil || !went && !r.Policy.Hang.Off {
		return nil
	}
	r.Run.Hang, r.Run.Slow = nil, nil
	if !went {
		return k.save(r)
	}
	k.Tell(Event{Job: r.ID, Kind: "job heard", Reason: fmt.Sprintf("job %s goes on: it was slow, and does not hang", r.Label)})
	return k.save(r)
}

// slows tells of a run that is silent and of which nothing says that it hangs, once.
func (k *Keeper) slows(ctx context.Context, r *record, h *hang, f finding) error {
	if r.Run.Slow != nil || len(r.looks) < 2 {
		return nil
	}
	h.Ranks = []string{does(f)}
	h.Capture = k.keepCapture(ctx, r, h, "slow", f.reports)
	r.Run.Slow = &slow{*h, r.Run.Last}
	hint := "it is left alone while it does; --hang=DURATION says when it is over"
	if h.Capture != "" {
		hint += "; " + captured(h)
	}
	k.Tell(Event{Job: r.ID, Kind: "job slow", Reason: fmt.Sprintf("job %s: %s; %s", r.Label, h.Why, h.Ranks[0]), Hint: hint})
	return k.save(r)
}

// hangs says that a run hangs, and does what is wished then.
func (k *Keeper) hangs(ctx context.Context, r *record, h *hang, f finding, now time.Time) error {
	at, ranks := standing(f.look, f.reports)
	if f.why != "" {
		ranks = append(ranks, f.why)
	}
	h.Ranks = ranks
	h.Capture = k.keepCapture(ctx, r, h, "hang", f.reports)
	r.Run.Hang, r.Run.Slow, r.looks = h, nil, nil
	k.Tell(Event{Job: r.ID, Kind: "job hangs", Nodes: at, Reason: fmt.Sprintf("job %s: %s", r.Label, strings.Join(append([]string{h.Why}, h.Ranks...), "; ")), Hint: captured(h)})
	if r.Policy.OnHang == policy.HangTell || r.unread() {
		return k.save(r)
	}
	return k.endHang(ctx, r, at, now)
}

// unread says that no line of progress was ever found, and that nobody said when one has to come:
// the job may write them elsewhere, so it is left alone.
func (r *record) unread() bool {
	return len(r.Samples) == 0 && r.Policy.StartUp == 0 && r.Policy.Hang.Limit == 0
}

// silence says what is missing.
func silence(r *record, is, limit time.Duration) string {
	what := "no line of progress"
	if r.Run.Last.IsZero() {
		what = "no first line of progress"
	}
	return fmt.Sprintf("%s for %s, and %s is the limit", what, job.Span(is), job.Span(limit))
}

func captured(h *hang) string {
	if h.Capture == "" {
		return ""
	}
	return "its stacks are in " + h.Capture
}

// endHang decides that a run that hangs is over.
func (k *Keeper) endHang(ctx context.Context, r *record, at []string, now time.Time) error {
	h := r.Run.Hang
	nodes, err := k.nodesOf(ctx, r.Run.Nodes)
	if err != nil {
		return err
	}
	k.lookAtCheckpoints(ctx, r, time.Time{})
	o := outcome{
		state: "CANCELLED", end: now, nodes: nodes, ras: h.RAS,
		hang: &cause.Hang{Silent: now.Sub(h.Since), Limit: h.Limit, Nodes: at, Text: strings.Join(h.Ranks, "; ")},
	}
	rows, err := k.Ledger.Steps(ctx, r.ID, r.Run.Start)
	if err != nil {
		k.Log.Warn("the accounting cannot say where a job's tasks are", "job", r.Label, "error", err)
	}
	o.take(rows, r.Run.Start)
	return k.decide(r, o, now)
}
