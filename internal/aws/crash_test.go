package aws_test

import (
	"context"
	"testing"

	"github.com/muster-hpc/muster/test/cloud/wire"
	"github.com/muster-hpc/muster/test/soak"
)

// How many calls lie between two cuts: a cut after each of them would take hours. Odd numbers, as cutDuringUp takes turns.
const (
	stride     = 61
	soakStride = 17
)

func TestCutDuringUp(t *testing.T) { cutDuringUp(t, stride) }

func TestSoak_cut_during_up(t *testing.T) {
	soak.Only(t, "more cuts than TestCutDuringUp makes")
	cutDuringUp(t, soakStride)
}

// cutDuringUp ends `up` after some of its calls, before it knows the answer. The
// next one reaches the goal, and `down` leaves nothing behind, with and without it.
func cutDuringUp(t *testing.T, stride int) {
	t.Helper()
	w := newWorld(t)
	w.heads()
	for n := 3; ; n += stride {
		ctx, cancel := context.WithCancel(t.Context())
		was := w.After(n, func(*wire.Call) { cancel() })
		_, err := w.up(ctx, plainFile, "", &told{t: t})
		cancel()
		call, hit := was()
		if !hit {
			break
		}
		t.Logf("cut after call %d, %v: %v", n, call, err)
		if n%2 == 0 {
			w.empty()
			continue
		}
		if _, err := w.up(t.Context(), plainFile, "", &told{t: t}); err != nil {
			t.Fatalf("cut after call %d, %v: then %v", n, call, err)
		}
		w.empty()
	}
}

func TestCutDuringDown(t *testing.T) { cutDuringDown(t, stride) }

func TestSoak_cut_during_down(t *testing.T) {
	soak.Only(t, "more cuts than TestCutDuringDown makes")
	cutDuringDown(t, soakStride)
}

// cutDuringDown is the same for `down`.
func cutDuringDown(t *testing.T, stride int) {
	t.Helper()
	w := newWorld(t)
	w.heads()
	for n := 2; ; n += stride {
		if _, err := w.up(t.Context(), plainFile, "", &told{t: t}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		was := w.After(n, func(*wire.Call) { cancel() })
		_, err := w.down(ctx, true, &told{t: t})
		cancel()
		call, hit := was()
		t.Logf("cut after call %d, %v: %v", n, call, err)
		w.empty()
		if !hit {
			return
		}
	}
}

// empty takes the cluster down and holds that nothing is left that costs.
func (w *world) empty() {
	w.t.Helper()
	left, err := w.down(w.t.Context(), true, &told{t: w.t})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, l := range left {
		if l.Costs() {
			w.t.Errorf("left: %+v", l)
		}
	}
}
