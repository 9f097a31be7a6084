package keeper

import (
	"context"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// reader is a log's reader. One that is new goes on where that of the keeper before was, with what
// that one knew, and so do those of the job's other files, which it may look into.
func (r *record) reader(l *logState) *trainlog.Reader {
	if known := r.readers[l.Path]; known != nil {
		return known
	}
	if r.readers == nil {
		r.readers = map[string]*trainlog.Reader{}
	}
	reader := &trainlog.Reader{From: l.Next, Knows: l.Knows}
	if r.Policy.LogPattern != "" {
		reader.Pattern, _ = trainlog.Compile(r.Policy.LogPattern) // it was read when the job was kept
	}
	r.readers[l.Path] = reader
	for _, path := range job.Logs(r.job) {
		i := slices.IndexFunc(r.Logs, func(o logState) bool { return o.Path == path && path != l.Path })
		if i >= 0 {
			other := r.reader(&r.Logs[i])
			reader.Beside, other.Beside = other, reader
		}
	}
	return reader
}

// remember has the record know what its readers do.
func (r *record) remember() {
	for i := range r.Logs {
		if reader := r.readers[r.Logs[i].Path]; reader != nil {
			r.Logs[i].Knows = reader.Memory()
		}
	}
}

// writer is the run whose output is read now: one that goes on, or has ended and is followed by what
// was decided. The processes of a run may write for a while after its end.
func (r *record) writer() (restarts int, start time.Time, ok bool) {
	switch {
	case r.Run != nil:
		return r.Run.Restarts, r.Run.Start, true
	case r.Act != nil:
		return r.Act.Restarts, r.Act.Start, true
	}
	return 0, time.Time{}, false
}

// finish takes in what waited for lines that do not come any more.
func (k *Keeper) finish(ctx context.Context, r *record) {
	for _, path := range job.Logs(r.job) {
		reader := r.readers[path]
		if reader == nil {
			continue
		}
		found, wrong := fed(func([]byte) trainlog.Found { return reader.End() }, nil)
		if wrong != nil || len(found.Samples)+len(found.Signs) == 0 {
			continue
		}
		at := r.writtenAt(r.log(path).Changed)
		r.log(path).Next, r.dirty = reader.Next(), true
		r.progress(path, found, at, true)
		k.draw(ctx, r, found.Samples, at)
	}
}

// followLate reads what the processes of a run have written that was judged already, until its job
// may run again: what comes then is the next run's.
func (k *Keeper) followLate(ctx context.Context, r *record) {
	j := r.job
	same := running(j) && j.Restarts == r.Act.Restarts && j.StartTime.Equal(r.Act.Start)
	if same || j.Ended() || j.Again || j.State == "REQUEUED" || j.State == "PENDING" && (held(j) || j.Reason == "BeginTime") {
		k.follow(ctx, r)
	}
}
