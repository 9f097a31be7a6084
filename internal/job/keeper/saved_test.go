package keeper

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/errand"
)

// When checkpoints were written is known also of those that their job has deleted, or overwritten, and of a killed keeper's.
func TestSavedCheckpoints(t *testing.T) {
	w := newWorld(t)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	look := func(found ...errand.Checkpoint) {
		t.Helper()
		w.found = found
		w.rounds(2)
	}
	whole := func(step int64, second int) errand.Checkpoint {
		return errand.Checkpoint{Dir: fmt.Sprintf("/fsx/ck/step-%d", step), Step: step, Whole: true, Changed: at(second)}
	}
	torn := whole(20, 20)
	torn.Whole, torn.Torn = false, "a part is missing"
	look(whole(10, 10))
	look(torn, whole(10, 10))
	look(whole(20, 25))                                                                       // and 10 is gone
	look(errand.Checkpoint{Dir: "/fsx/ck/last.ckpt", Step: -1, Whole: true, Changed: at(30)}) // without a step
	look(errand.Checkpoint{Dir: "/fsx/ck/last.ckpt", Step: -1, Whole: true, Changed: at(40)}) // the same, written again
	got := ""
	r := w.rounds(1).Report(7)
	for _, s := range r.Saved {
		got += fmt.Sprintf("%d at %g, ", s.Step, s.At.Sub(start).Seconds())
	}
	if want := "10 at 10, 20 at 25, -1 at 30, -1 at 40, "; got != want || r.SavedSince.Before(start) {
		t.Errorf("%s instead of %s, since %v", got, want, r.SavedSince)
	}
}

// Of very many checkpoints the oldest are forgotten, and that they are.
func TestManySavedCheckpoints(t *testing.T) {
	r := &record{Since: start}
	for i := range savedKept + 100 {
		if !r.saved([]errand.Checkpoint{{Step: int64(i), Whole: true, Changed: start.Add(time.Duration(i) * time.Second)}}) {
			t.Fatal(i)
		}
	}
	if n := len(r.Saved); n != savedKept || r.Saved[0].Step != 100 || !r.savedSince().Equal(start.Add(100*time.Second)) {
		t.Errorf("%d, since %v", n, r.savedSince())
	}
}
