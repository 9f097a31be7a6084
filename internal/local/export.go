package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/spec"
)

const (
	exporting    = "export what is left"
	lookAtExport = 250 * time.Millisecond
	// standstill is how long the last export may stand still.
	standstill = 15 * time.Second
	// joinBytes is what an S3 server takes to join the parts of an upload at the
	// least, each second, before it answers.
	joinBytes = 20 << 20
	// askLimit is how long the controller may take to say how far it is.
	askLimit = 5 * time.Second
	mebibyte = 1 << 20
	// notWaited is why files are left where the user interrupted the wait.
	notWaited = "you did not wait"
)

// lastExport waits for the controller to export the files that are left.
type lastExport struct {
	layout  *nodes.Layout
	control client.Client
	report  step.Reporter

	began, moved time.Time
	told         bool // anything
	seen         pace // the furthest so far
	sentBefore   int64
}

// pace is how far all exports of a cluster are.
type pace struct {
	files                       int
	bytes, sent, exported, done int64
	failing                     bool
	joining                     int64 // bytes that were all sent, and wait for the server's answer
}

// run waits as long as the export makes progress and ctx lasts. It says what it did, and which files are left.
func (e *lastExport) run(ctx context.Context) (string, *place.Unexported) {
	before, err := e.ask(ctx)
	if err != nil {
		return "not done: " + err.Error(), unknown(e.layout, err)
	}
	why := ""
	if mirrored(before) {
		e.sentBefore = paceOf(before).exported
		why = e.wait(ctx)
	}
	after, err := e.ask(context.WithoutCancel(ctx))
	if err != nil {
		after, why = before, err.Error()
	}
	left := unexported(after, why, e.layout.Path("shared"))
	switch {
	case left != nil && left.Unknown && left.Files == 0:
		return "unknown what is left behind: " + left.Why, left
	case left != nil:
		return fmt.Sprintf("left behind: %d, %s", left.Files, left.Why), left
	}
	if n := paceOf(after).exported - e.sentBefore; n > 0 && mirrored(before) {
		return fmt.Sprintf("exported: %d, nothing waits", n), nil
	}
	return "nothing waits", nil
}

// unasked is what may be missing in the buckets of a cluster that does not run, whose
// controller cannot be asked. It is nil where nothing is exported, or there is no file.
func unasked(l *nodes.Layout) *place.Unexported {
	return unknown(l, errors.New("the cluster does not run"))
}

// unknown is what is left if the controller cannot be asked: nil where nothing is exported, or there is no file.
func unknown(l *nodes.Layout, err error) *place.Unexported {
	c, _ := spec.Load(l.Path("cluster.yaml"))
	if c == nil {
		return nil
	}
	w := workloadOf(l, c)
	for _, r := range rules(l, c.With(w), w) {
		if (r.New || r.Changed || r.Deleted) && holdsFile(r.Dir) {
			return &place.Unexported{Unknown: true, Why: err.Error(), First: []place.UnexportedFile{}, Dir: l.Path("shared")}
		}
	}
	return nil
}

// workloadOf is the muster.yaml of a cluster that is there. One that cannot be read is an
// empty one: the controller refuses it, too.
func workloadOf(l *nodes.Layout, c *spec.Cluster) *spec.Workload {
	if w, _ := spec.LoadWorkload(l.Path("muster.yaml"), c); w != nil {
		return w
	}
	return &spec.Workload{}
}

// wait makes the controller export until it is done. It returns why it gave up before that, "" if it did not.
func (e *lastExport) wait(ctx context.Context) string {
	flushing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	done := make(chan error, 1)
	go func() { done <- asking(flushing, e.control.Flush(flushing)) }()
	defer func() { stop(); <-done }()
	e.began, e.moved = time.Now(), time.Now()
	tick := time.NewTicker(lookAtExport)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			done <- nil
			if err != nil {
				return err.Error()
			}
			return ""
		case <-ctx.Done():
			return notWaited
		case <-tick.C:
		}
		if all, err := e.ask(ctx); err == nil {
			e.tell(paceOf(all))
		}
		if still := time.Since(e.moved); still > standstill+time.Duration(e.seen.joining/joinBytes)*time.Second {
			return fmt.Sprintf("nothing moved for %.0f s", still.Seconds())
		}
	}
}

// tell reports how far it is, and notes whether it came further.
func (e *lastExport) tell(now pace) {
	if !e.told {
		e.told, e.seen, e.moved = true, now, time.Now()
	} else if now.files < e.seen.files || now.bytes < e.seen.bytes || now.done > e.seen.done && !now.failing {
		e.moved = time.Now()
	}
	e.seen.files, e.seen.bytes = min(e.seen.files, now.files), min(e.seen.bytes, now.bytes)
	e.seen.done, e.seen.joining = now.done, now.joining
	since := time.Since(e.began)
	rate := float64(now.sent-e.seen.sent) / mebibyte / max(since.Seconds(), 0.001)
	e.report.Waiting(exporting, fmt.Sprintf("%s, %.1f MiB, at %.1f MiB/s; Ctrl-C leaves them in %s",
		count.Of(now.files, "file"), float64(now.bytes)/mebibyte, rate, e.layout.Path("shared")), since)
}

func paceOf(all []client.ExportStatus) pace {
	var p pace
	for _, s := range all {
		p.files += s.Pending
		p.bytes += s.PendingBytes
		p.sent += s.SentBytes
		p.exported += int64(s.Exported)
		p.done += s.Progress
		p.failing = p.failing || s.Error != ""
		for _, u := range s.Uploading {
			if u.SentBytes >= u.SizeBytes {
				p.joining += u.SizeBytes
			}
		}
	}
	return p
}

// mirrored says that something goes to a bucket.
func mirrored(all []client.ExportStatus) bool {
	return slices.ContainsFunc(all, func(s client.ExportStatus) bool { return s.Export })
}

// unexported are the files that are not in the buckets, nil if there are none.
func unexported(all []client.ExportStatus, why, dir string) *place.Unexported {
	p := paceOf(all)
	unseen := unlooked(all)
	// If the last export failed although no file seems to wait, that is unknown, too.
	unknown := unseen != "" || p.files == 0 && why != "" && why != notWaited
	if p.files == 0 && !unknown {
		return nil
	}
	u := &place.Unexported{Why: cmp.Or(why, unseen, "they cannot be exported"), Unknown: unknown, Files: p.files, SizeBytes: p.bytes, First: []place.UnexportedFile{}, Dir: dir}
	for _, s := range all {
		u.Blocked += s.Blocked
		for _, f := range s.Uploading {
			u.SizeBytes += f.SentBytes // half a file is none
		}
		for _, f := range s.Waiting {
			u.First = append(u.First, place.UnexportedFile{Path: s.Path + "/" + f.Path, SizeBytes: f.SizeBytes, Reason: cmp.Or(s.Error, f.Reason)})
		}
		for _, f := range s.BlockedFiles {
			u.First = append(u.First, place.UnexportedFile{Path: s.Path + "/" + f.Path, SizeBytes: f.SizeBytes, Reason: f.Reason, Blocked: true})
		}
	}
	return u
}

// unlooked is why a place that something goes to could not be looked at, "" if all could.
func unlooked(all []client.ExportStatus) string {
	for _, s := range all {
		if s.Export && s.PendingUnknown {
			return cmp.Or(s.Error, s.Path+" was not looked at")
		}
	}
	return ""
}

// ask asks the controller how far its exports are.
func (e *lastExport) ask(ctx context.Context) ([]client.ExportStatus, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askLimit, errors.New("the controller does not answer"))
	defer cancel()
	all, err := e.control.Exports(ctx)
	return all, asking(ctx, err)
}

// asking adds to an error of a controller that gave no answer what it was asked, or why the wait for the answer ended.
func asking(ctx context.Context, err error) error {
	switch {
	case !client.Unanswered(err):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("ask the controller: %w", err)
}
