package keeper

import (
	"errors"
	"testing"
	"time"
)

// Checkpoints that cannot be read are no reason not to see that a job hangs; logs that cannot be followed are.
func TestHangsBesideWhatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.unfound = errors.New("look for checkpoints in /fsx/ck: open /fsx/ck/lost+found: permission denied")
	k := w.hangs("--on-hang=tell --checkpoints=/fsx/ck")
	w.round(k)
	if hangs, _ := w.told("job hangs"); hangs != 1 || len(k.Report(7).Blind) != 1 {
		t.Errorf("it hangs, and that is told %d times: %v", hangs, k.Report(7).Blind)
	}
	k.records[7].deaf = []string{"/fsx/7.out: permission denied"}
	k.lock.Lock()
	err := k.watch(t.Context(), k.records[7], time.Now())
	k.lock.Unlock()
	if heard, e := w.told("job heard"); err != nil || heard > 0 || k.records[7].Run.Hang == nil {
		t.Errorf("nothing was heard of it, and it is said to go on: %+v, %v", e, err)
	}
}
