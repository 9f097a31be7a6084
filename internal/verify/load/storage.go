//go:build linux

package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/verify/meter"
)

// Phases of a measurement of storage. Tasks of several nodes do each phase together, and the next one when all have ended.
const (
	// PhaseAll is all phases, one after the other, and leaves nothing.
	PhaseAll   = "all"
	PhaseWrite = "write"
	// PhaseRead reads what PhaseWrite has written on another node, if there is one.
	PhaseRead = "read"
	PhaseMeta = "meta"
	// PhaseEnd removes what the other phases left.
	PhaseEnd = "end"
)

// Storage is a measurement of one directory from one node: one task of it.
type Storage struct {
	// Dir is a directory in which the user may write. Nothing is written but below a directory that is made there.
	Dir string
	// Run names that directory, the same for all tasks: 8 to 32 letters and digits.
	Run   string
	Phase string
	// By is what writes and reads: empty is muster itself, or ByFio.
	By string
	// Node and Task are who measures, Nodes all that do, which may be empty for one.
	Node  string
	Task  int
	Nodes []string
	// ReadOf is the node whose files are read; empty is the one that follows in Nodes.
	ReadOf string
	// Bytes and Time bound what is written and read by the task, Streams is how many files it does at once; Files are those of PhaseMeta.
	Bytes   int64
	Time    time.Duration
	Streams int
	Files   int
	// Tasks is how many tasks share the file system: there must be room for what all write, three times.
	Tasks int
	// Room is what other programs write later in the run, all together: there must be three times as much, too.
	Room int64
	// Now is when the run begins: leftovers are those of a day before.
	Now time.Time

	unlooked bool // for tests of disks that fill up
}

// Bounds of what a task may be asked for.
const (
	mostBytes   = 1 << 40
	mostStreams = 64
	mostFiles   = 1_000_000
)

// Check says what of a measurement cannot be, as a person wrote it.
func (s Storage) Check() error {
	switch {
	case !slices.Contains([]string{PhaseAll, PhaseWrite, PhaseRead, PhaseMeta, PhaseEnd}, s.Phase):
		return fmt.Errorf("%q is no phase: all, write, read, meta or end", s.Phase)
	case !strings.HasPrefix(s.Dir, "/"):
		return fmt.Errorf("%q is no absolute directory", s.Dir)
	case !plain(s.Run, 8, 32):
		return fmt.Errorf("%q names no run: 8 to 32 letters and digits", s.Run)
	case !hostLike(s.Node) || s.ReadOf != "" && !hostLike(s.ReadOf) || slices.ContainsFunc(s.Nodes, func(n string) bool { return !hostLike(n) }):
		return errors.New("a node's name has letters, digits, dots and dashes alone")
	case s.Bytes < chunk || s.Bytes > mostBytes:
		return fmt.Errorf("%d bytes are not between %d and %d", s.Bytes, int64(chunk), int64(mostBytes))
	case s.Time < time.Second || s.Time > time.Hour:
		return fmt.Errorf("%s is not between a second and an hour", s.Time)
	case s.Streams < 1 || s.Streams > mostStreams || s.Task < 0 || s.Tasks < 1:
		return fmt.Errorf("%d streams of task %d of %d cannot be", s.Streams, s.Task, s.Tasks)
	case s.By != "" && s.By != ByFio:
		return fmt.Errorf("%q is no program that measures: leave it out, or fio", s.By)
	case s.Room < 0:
		return fmt.Errorf("%d bytes of room cannot be", s.Room)
	case s.Files < 1 || s.Files > mostFiles:
		return fmt.Errorf("%d files are not between 1 and %d", s.Files, mostFiles)
	}
	return nil
}

func plain(text string, least, most int) bool {
	return len(text) >= least && len(text) <= most && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// hostLike tells whether a name can be a node's, and thereby a part of a file's name.
func hostLike(name string) bool {
	return len(name) > 0 && len(name) <= 64 && plain(strings.NewReplacer("-", "", ".", "", "_", "").Replace(name)+"x", 1, 65) && name[0] != '.'
}

// Measure does the phase. What it was kept from is told in the answer: a task that found the file system full has found something.
// When the context ends, or the measurement fails, the run's directory is removed.
func (s Storage) Measure(ctx context.Context) meter.StorageTask {
	answer := meter.StorageTask{Phase: s.Phase, Node: s.Node, Task: s.Task, Run: s.Run, Dir: s.Dir, By: "muster"}
	if err := s.measure(ctx, &answer); err != nil {
		answer.Fault, answer.Error = faultOf(err), err.Error()
		if answer.Fault == meter.FaultOther && ctx.Err() != nil {
			answer.Fault = meter.FaultStopped
		}
	}
	return answer
}

func (s Storage) measure(ctx context.Context, answer *meter.StorageTask) (err error) {
	if err := s.Check(); err != nil {
		return err
	}
	if s.Phase == PhaseEnd {
		return RemovePlace(s.Dir, s.Run)
	}
	run, err := openPlace(s.Dir, s.Run)
	if err != nil {
		return err
	}
	defer run.close()
	answer.FS = run.kind
	defer func() {
		if err != nil || ctx.Err() != nil || s.Phase == PhaseAll {
			err = errors.Join(err, context.Cause(ctx), run.remove())
		}
	}()
	write, read := s.write, s.read
	if s.By == ByFio {
		write, read = s.fioWrite, s.fioRead
	}
	for _, phase := range []struct {
		name string
		do   func(context.Context, *place, *meter.StorageTask) error
	}{{PhaseWrite, s.begin}, {PhaseWrite, write}, {PhaseRead, read}, {PhaseMeta, s.metadata}} {
		if s.Phase != PhaseAll && s.Phase != phase.name {
			continue
		}
		if err := phase.do(ctx, run, answer); err != nil {
			return err
		}
	}
	return nil
}

// begin removes what runs left that died, and holds that there is room.
func (s Storage) begin(_ context.Context, p *place, answer *meter.StorageTask) error {
	if gone := p.sweep(s.Now); gone > 0 {
		answer.Notes = append(answer.Notes, fmt.Sprintf("removed what %d dead runs left", gone))
	}
	if s.unlooked {
		return nil
	}
	return p.room(max(s.Room, s.each()*int64(s.Streams)*int64(s.Tasks)), int64(s.Files)*int64(s.Tasks))
}

// each is how many bytes a stream writes at most: whole chunks, and one at least.
func (s Storage) each() int64 { return max(chunk, s.Bytes/int64(s.Streams)/chunk*chunk) }

// errDamaged is of bytes that are not those that were written.
var errDamaged = errors.New("what was read is not what was written")

// errSpace is of a file system with too little room to begin.
var errSpace = errors.New("there is too little room")

// faultOf is the class of an error.
func faultOf(err error) meter.StorageFault {
	for _, class := range []struct {
		err   error
		fault meter.StorageFault
	}{
		{errDamaged, meter.FaultDamaged}, {errSpace, meter.FaultSpace},
		{syscall.ENOSPC, meter.FaultFull}, {syscall.EDQUOT, meter.FaultFull}, {syscall.EROFS, meter.FaultReadOnly},
		{syscall.ESTALE, meter.FaultStale}, {syscall.ENOTCONN, meter.FaultStale}, {syscall.EIO, meter.FaultIO},
		{fs.ErrPermission, meter.FaultPermission}, {fs.ErrNotExist, meter.FaultMissing},
		{context.Canceled, meter.FaultStopped}, {context.DeadlineExceeded, meter.FaultStopped},
	} {
		if errors.Is(err, class.err) {
			return class.fault
		}
	}
	return meter.FaultOther
}

// source is the node whose files are read.
func (s Storage) source() string {
	if i := slices.Index(s.Nodes, s.Node); s.ReadOf == "" && i >= 0 {
		return s.Nodes[(i+1)%len(s.Nodes)]
	}
	return cmp.Or(s.ReadOf, s.Node)
}
