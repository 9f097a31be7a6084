package keeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// logState is up to where a log was read.
type logState struct {
	Path string `json:"path"`
	// Restarts is of the run that wrote what was read last.
	Restarts int            `json:"restarts,omitempty"`
	Offset   int64          `json:"offset"`
	Line     int64          `json:"line"`
	Inode    uint64         `json:"inode"`
	Mark     []byte         `json:"mark,omitempty"`
	Next     trainlog.Place `json:"next"`
	// Changed is when the file was written last that was read to its end.
	Changed time.Time `json:"changed,omitzero"`
	// behind says that there was more than the last round read: when its lines came, nobody knows.
	behind bool
	// Knows is what its reader knew when the record was written down.
	Knows *trainlog.Memory `json:"knows,omitempty"`
}

const (
	pieceBytes = 1 << 20
	// piecesAtOnce is how many pieces of a log a round reads at most: others wait.
	piecesAtOnce = 32
	// skipBytes is how much of a log is read that was there before the job was kept.
	skipBytes = 256 << 20
	markBytes = 64
	// signsKept is how many signs of a run are kept: the first ones tell the cause.
	signsKept = 100
	// logsKept is how many logs of a job are known: their names may change with each run.
	logsKept = 4
)

// follow reads what is new in a job's logs. Files that cannot be read are the job's owner's
// matter: they are said, and the job is kept without.
func (k *Keeper) follow(ctx context.Context, r *record) {
	r.deaf = nil
	began := time.Now()
	if k.writeCurves(ctx, r) {
		k.renewCurves(ctx, r, nil)
	}
	for _, path := range job.Logs(r.job) {
		err := k.followLog(ctx, r, path)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		r.deaf = append(r.deaf, fmt.Sprintf("%s: %v", path, err))
	}
	r.polled = began
}

func (k *Keeper) followLog(ctx context.Context, r *record, path string) error {
	l := r.log(path)
	late := l.behind
	l.behind = false
	for range piecesAtOnce {
		c, err := k.Files.Read(ctx, r.user(), errand.Reading{
			Path: path, Offset: l.Offset, Mark: l.Mark, Inode: l.Inode, MostBytes: pieceBytes, SkipBytes: skipBytes,
		})
		if err != nil {
			return err
		}
		if others(r, c) {
			return nil
		}
		if rewritten(r, l, c) {
			*l = logState{Path: path, Restarts: r.Run.Restarts}
			continue
		}
		late = late || l.Inode == 0
		if c.Offset != l.Offset || l.Inode != c.Inode {
			*l = logState{Path: path, Offset: c.Offset, Inode: c.Inode, Next: trainlog.Place{Line: 1, Offset: c.Offset}}
			delete(r.readers, path)
		}
		piece := c.Data
		if end := bytes.LastIndexAny(piece, "\r\n") + 1; end > 0 || len(piece) < pieceBytes {
			piece = piece[:end] // a line's beginning is read again with its end
		}
		if len(c.Data) < pieceBytes {
			l.Changed = c.Changed
		}
		if len(piece) == 0 {
			return nil
		}
		k.take(ctx, r, l, piece, c, late)
		if len(c.Data) < pieceBytes {
			return nil
		}
	}
	l.behind = true
	return nil
}

// behind says that the job writes faster than its logs are read: the line that it seems to owe may be among what was not read.
func (r *record) behind() bool {
	return slices.ContainsFunc(r.Logs, func(l logState) bool { return l.behind })
}

// others says that a file is another job's that had the same name: it was last written before
// the first run of this one.
func others(r *record, c errand.Chunk) bool {
	return r.Run != nil && r.Run.Restarts == 0 && len(r.Rounds) == 0 && c.Changed.Before(r.Run.Start.Add(-time.Second))
}

// rewritten says that a run has written its log anew, and so far the same as the run before: it
// wrote, and there is no more than was read. What was read to its end and not written since is the
// run before's, which may have ended in the second in which this one began.
func rewritten(r *record, l *logState, c errand.Chunk) bool {
	return r.Run != nil && l.Inode != 0 && l.Restarts != r.Run.Restarts && len(c.Data) == 0 && !c.Changed.Before(r.Run.Start) && !c.Changed.Equal(l.Changed)
}

// log is the state of one of the job's logs.
func (r *record) log(path string) *logState {
	i := slices.IndexFunc(r.Logs, func(l logState) bool { return l.Path == path })
	if i < 0 {
		if len(r.Logs) >= logsKept {
			delete(r.readers, r.Logs[0].Path)
			r.Logs = slices.Delete(r.Logs, 0, 1)
		}
		r.Logs = append(r.Logs, logState{Path: path})
		i = len(r.Logs) - 1
	}
	return &r.Logs[i]
}

// take reads a piece of whole lines.
func (k *Keeper) take(ctx context.Context, r *record, l *logState, piece []byte, c errand.Chunk, old bool) {
	reader := r.reader(l)
	found, wrong := fed(reader.Feed, piece)
	l.Offset += int64(len(piece))
	if restarts, _, ok := r.writer(); ok {
		l.Restarts = restarts
	}
	l.Mark = append(slices.Clone(l.Mark), piece...)
	l.Mark = slices.Clone(l.Mark[max(0, len(l.Mark)-markBytes):])
	l.Next = reader.Next()
	if wrong != nil {
		k.Log.Error("a part of a job's output cannot be read, and is left out", "job", r.Label, "file", l.Path, "offset", l.Offset, "error", wrong)
		l.Next = trainlog.Place{Line: l.Next.Line, Offset: l.Offset}
		l.Knows = nil
		delete(r.readers, l.Path)
	}
	r.dirty = true
	at := r.writtenAt(c.Changed)
	r.progress(l.Path, found, at, old)
	k.draw(ctx, r, found.Samples, at)
}

// fed reads a piece. Users write it, and it is read in the process that runs the fleet: what the reader
// cannot take costs the piece, and nothing else.
func fed(feed func([]byte) trainlog.Found, piece []byte) (found trainlog.Found, wrong any) {
	defer func() { wrong = recover() }()
	return feed(piece), nil
}

// writtenAt is when something was written that is new now, as a file's time says. Clocks differ: it
// was after the look before this one.
func (r *record) writtenAt(changed time.Time) time.Time {
	now := time.Now()
	if changed.After(now) {
		return now
	}
	return later(changed, r.polled)
}

// progress takes in what a piece of a log says, which was written last at a time. Of a piece
// that was there before anybody looked, or could look, nobody knows when its lines came.
func (r *record) progress(path string, found trainlog.Found, at time.Time, old bool) {
	if r.Run == nil {
		for _, s := range found.Samples {
			r.sample(client.SampleOf(s, at)) // of a run that has ended
		}
		return
	}
	if at.Before(r.Run.Start) {
		at = r.Run.Start
	}
	r.Run.Wrote = later(r.Run.Wrote, at)
	for i := range found.Signs {
		if s := &found.Signs[i]; s.Kind == trainlog.NodeFailure && !strings.Contains(s.Text, "Node failure on") {
			s.Node = "" // it names the node that heard of it
		}
	}
	r.Run.Signs = cause.Gather(r.Run.Signs, fileOf(path), found, signsKept)
	lines, before := 0, r.Run.Step
	if r.Run.Last.IsZero() {
		before = trainlog.NoStep
	}
	for _, s := range found.Samples {
		if s.Step > r.Run.Step || r.Run.Last.IsZero() || s.Step == trainlog.NoStep || s.Step < r.Run.Step-1 {
			lines++
		}
		if s.Step >= 0 {
			r.Run.Step = s.Step
		}
		r.sample(client.SampleOf(s, at))
	}
	if len(found.Samples) == 0 {
		return
	}
	switch {
	case r.Run.Last.IsZero():
		r.Run.First = at
		if !old {
			r.Rhythm.began(at.Sub(r.Run.Start))
		}
	case !old:
		r.Rhythm.beat(lines, at.Sub(later(r.Run.Last, r.Run.Alive)), before)
		if ahead := r.Run.Step - before; lines > 0 && ahead > 0 {
			r.Rhythm.Stride = max(1, ahead/int64(lines))
		}
	}
	r.Run.Last = later(r.Run.Last, at)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
