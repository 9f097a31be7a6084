package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/job/tensorboard"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// curves are a job's samples as TensorBoard shows them: a directory beside its log with an event
// file, which grows while the log does.
//
// They are written down together with how far the logs were read. So a keeper that was killed in
// between cuts the file where it ended then, reads the same lines again and writes the same.
type curves struct {
	Dir string `json:"dir,omitempty"`
	// Begun gives the file its name. It is known before anything is written.
	Begun time.Time        `json:"begun,omitzero"`
	File  tensorboard.File `json:"file,omitzero"`
	// Unwritten is the end of File that could not be written so far.
	Unwritten []byte `json:"unwritten,omitempty"`
	// Restarts is of the run that the last event is of.
	Restarts int `json:"restarts,omitempty"`
	// Step is the training's last one, Steps how many there were, Taken whether the last one has events.
	Step  int64 `json:"step,omitempty"`
	Steps int64 `json:"steps,omitempty"`
	Taken bool  `json:"taken,omitempty"`
	// Told says that it was said that they cannot be written.
	Told bool `json:"told,omitempty"`

	blind string // why they cannot be written now
}

const (
	// curvesWhole is of how many steps each has events. Of twice as many then every second one has,
	// of four times as many every fourth: a million steps take 7 MiB.
	curvesWhole = 10_000
	// unwrittenMost is how much waits at most for a place that cannot be written.
	unwrittenMost = 256 << 10
	// clockSlack is how far a line's own time may be from when it can have been written.
	clockSlack = time.Minute
)

// draw adds samples to a job's curves, which were written at a time at the latest.
func (k *Keeper) draw(ctx context.Context, r *record, samples []trainlog.Sample, at time.Time) {
	restarts, start, ok := r.writer()
	if k.Scribe == nil || !ok || !r.Curves.place(r) {
		return
	}
	var events []tensorboard.Event
	for _, s := range samples {
		if e, ok := r.Curves.event(s, start, later(at, start)); ok {
			events = append(events, e)
		}
	}
	r.Curves.add(events, restarts)
	if k.writeCurves(ctx, r) {
		k.renewCurves(ctx, r, events)
	}
}

// renewCurves begins another file, which TensorBoard reads after the one before. That is written down
// first: a keeper that is killed then would begin yet another.
func (k *Keeper) renewCurves(ctx context.Context, r *record, events []tensorboard.Event) {
	c := &r.Curves
	c.Begun = later(time.Now(), c.Begun.Add(time.Second))
	c.File, c.Unwritten = tensorboard.File{}, nil
	c.add(events, c.Restarts)
	if err := k.save(r); err != nil {
		c.blind = err.Error()
		return
	}
	k.writeCurves(ctx, r)
}

// place says where the curves are, once the job has a log.
func (c *curves) place(r *record) bool {
	if c.Dir != "" {
		return true
	}
	logs := job.Logs(r.job)
	if len(logs) == 0 {
		return false
	}
	c.Dir, c.Begun = filepath.Join(filepath.Dir(logs[0]), "tensorboard", curvesName(r.Name, r.Label)), r.Since
	return true
}

// curvesName is the name under which TensorBoard shows a job. It is one of a file, whatever the job's is.
func curvesName(name, label string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' || r == 0x7f {
			return '-'
		}
		return r
	}, strings.ToValidUTF8(name, "-"))
	const most = 200
	return strings.ToValidUTF8(name[:min(len(name), most)], "") + "-" + label
}

// event is a sample as an event, unless it is left out. All lines of a step have one, or none has.
func (c *curves) event(s trainlog.Sample, start, at time.Time) (e tensorboard.Event, ok bool) {
	e = tensorboard.Event{Time: timeOf(s, start, at), Step: s.Step, Scalars: tensorboard.Scalars(s)}
	switch {
	case len(e.Scalars) == 0:
		return e, false
	case s.Eval && s.Step < 0:
		e.Step = c.Step
		return e, true
	case s.Eval:
		return e, true
	case s.Step < 0:
		e.Step = c.Step + 1 // TensorBoard needs one
	}
	if e.Step != c.Step || c.Steps == 0 {
		c.Taken = c.Steps%stride(c.Steps) == 0
		c.Step = e.Step
		c.Steps++
	}
	return e, c.Taken
}

// stride is of how many steps one has events, after so many.
func stride(steps int64) int64 { return 1 << (bits.Len64(uint64(steps/curvesWhole+1)) - 1) }

// timeOf is when a line was written: as it says itself, by a clock that goes as this machine's, if
// that can be, or else when it was seen.
func timeOf(s trainlog.Sample, start, at time.Time) time.Time {
	t := s.Time
	own := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.Local)
	if t.IsZero() || own.Before(start.Add(-clockSlack)) || own.After(at.Add(clockSlack)) {
		return at
	}
	return own
}

// add adds events of a run. What cannot be written for long is left out.
func (c *curves) add(events []tensorboard.Event, restarts int) {
	if c.blind != "" && len(c.Unwritten) >= unwrittenMost {
		return
	}
	for _, e := range events {
		if c.Restarts != restarts && c.File.Events > 0 {
			c.File.Restart()
		}
		c.Restarts = restarts
		c.Unwritten = c.File.Append(c.Unwritten, e)
	}
}

func (c *curves) path(id int) string {
	return filepath.Join(c.Dir, tensorboard.Name(c.Begun, "job-"+strconv.Itoa(id)))
}

// writeCurves writes what is not written yet. gone says that somebody removed the file, or cut it.
// Curves that cannot be written are said once, and are no other's trouble.
func (k *Keeper) writeCurves(ctx context.Context, r *record) (gone bool) {
	c := &r.Curves
	if len(c.Unwritten) == 0 || k.Scribe == nil {
		return false
	}
	written := c.File.Size - int64(len(c.Unwritten))
	err := k.Scribe.Extend(ctx, r.user(), errand.Extension{Path: c.path(r.ID), SizeBytes: written, Data: c.Unwritten})
	if err == nil {
		c.Unwritten, c.blind, r.dirty = nil, "", true
		return false
	}
	if errors.Is(err, fs.ErrNotExist) && written > 0 {
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	c.blind = err.Error()
	if !c.Told {
		c.Told, r.dirty = true, true
		k.Tell(Event{Job: r.ID, Kind: "job curves", Reason: fmt.Sprintf("job %s: its curves for TensorBoard are not written: %v", r.Label, err)})
	}
	return false
}
