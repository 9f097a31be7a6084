package keeper

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/slurm"
)

// hung are the world's files, of which those of a user hang until they are let go.
type hung struct {
	*world
	uid    int
	let    chan struct{}
	asked  chan struct{}
	atOnce int
}

func (s *hung) Read(ctx context.Context, u errand.User, r errand.Reading) (errand.Chunk, error) {
	if u.UID != s.uid {
		return s.world.Read(ctx, u, r)
	}
	if s.atOnce++; s.atOnce > 1 {
		s.t.Error("a user's files are asked twice at a time")
	}
	select {
	case s.asked <- struct{}{}:
	default:
	}
	select {
	case s.let <- struct{}{}:
	case <-ctx.Done():
	}
	s.atOnce--
	return errand.Chunk{}, errors.New("the file system does not answer")
}

// A user whose files hang has nobody else wait, and a keeper that ends does not wait for him.
func TestOthersGoOn(t *testing.T) {
	w := newWorld(t)
	s := &hung{world: w, uid: 1001, let: make(chan struct{}), asked: make(chan struct{}, 1)}
	w.hands, w.patience = s, time.Millisecond
	other := w.job
	other.ID, other.User, other.UID, other.GID, other.StdOut, other.StdErr = 6, "bob", 1001, 1001, "/hung/6.out", "/hung/6.out"
	second := other
	second.ID = 5
	w.others = []slurm.Job{second, other}
	k := w.keeper()
	ctx, end := context.WithCancel(t.Context())
	rounds := func(what string, until func() bool) {
		for i := 0; !until(); i++ {
			if err := k.round(ctx); err != nil || i > 10_000 {
				t.Fatalf("%s is waited for: %v", what, err)
			}
		}
	}
	rounds("his job", func() bool { return k.Report(7) != nil && k.Report(7).Phase == "starting" })
	rounds("another's files", func() bool { return len(s.asked) > 0 })
	w.prints(1, 5)
	rounds("its samples", func() bool { return len(k.Report(7).Samples) == 5 })
	w.fails("FAILED", 1)
	rounds("its next run", func() bool { w.schedule(); return w.job.State == "RUNNING" && len(k.Report(7).Rounds) == 1 })
	rounds("the other job of who waits", func() bool {
		select {
		case <-s.let:
		default:
		}
		return k.Report(5).Phase == "starting" && k.Report(6).Phase == "starting"
	})
	if err := k.adopt(ctx, adoption{job: 6}); err != nil {
		t.Error(err)
	}
	end()
	k.hands.Wait()
	if err := k.saveAll(); err != nil {
		t.Error(err)
	}
}

// What is known of a job may make no sense: that is said, and stops no other.
func TestOddRecord(t *testing.T) {
	w := newWorld(t)
	k := w.rounds(1)
	k.records[6] = &record{ID: 6, Label: "6", UID: 1000, GID: 1000, Curves: curves{Steps: -curvesWhole}}
	w.others = []slurm.Job{{ID: 6, UID: 1000, GID: 1000, State: "RUNNING", StartTime: start, StdOut: "/fsx/6.out", StdErr: "/fsx/6.out"}}
	w.logs["/fsx/6.out"] = "Batch 1 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.001\n"
	w.prints(1, 3)
	err := k.round(t.Context())
	if err == nil || !strings.Contains(err.Error(), "keep job 6: what is known of it makes no sense: ") {
		t.Errorf("got %v", err)
	}
	if r := k.Report(7); len(r.Samples) != 3 {
		t.Errorf("got %+v", r)
	}
}
