package keeper

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"
)

// trains takes in a training whose steps take so long, with a pause after each so many.
func trains(r *rhythm, from, to, every int64, step, pause time.Duration) {
	r.Stride = 1
	for n := from; n < to; n++ {
		if in := step; n%every == 0 && n > 0 {
			r.beat(1, in+pause, n)
		} else {
			r.beat(1, in, n)
		}
	}
}

func TestSilence(t *testing.T) {
	const evaluation = 40 * time.Minute
	for _, row := range []struct {
		name  string
		steps int64
		after int64
		want  time.Duration
	}{
		{"no_pause_yet", 1000, 1000, 10 * time.Minute},
		{"one_pause_may_come_anywhere", 1900, 1234, time.Hour},
		{"two_pauses_may", 2900, 1234, time.Hour},
		{"it_is_periodic_and_due", 3900, 4000, time.Hour},
		{"it_is_due_again", 3900, 7000, time.Hour},
		{"it_is_not_due", 3900, 4001, 10 * time.Minute},
		{"nobody_knows_the_step", 3900, -1, time.Hour},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r rhythm
			trains(&r, 0, row.steps, 1000, 2*time.Second, evaluation)
			if got := r.silence(row.after, shortestSilence); got.Round(time.Minute) != row.want {
				t.Errorf("after step %d: %s, want %s; pauses %v", row.after, got, row.want, r.Pauses)
			}
		})
	}
	var r rhythm
	trains(&r, 0, 3900, 1000, 2*time.Second, evaluation)
	r.beat(1, 20*time.Minute, 3933) // as a file system that stood still has it
	if got := r.silence(4001, shortestSilence); got < time.Hour {
		t.Errorf("pauses at any step allow %s", got)
	}
}

// Many lines come at once when a pause is over: it is as long as it was, and not a part of that.
func TestPauseWithLines(t *testing.T) {
	var r rhythm
	for n := range int64(20) {
		r.beat(5, time.Second, 5*n)
	}
	r.beat(5, 10*time.Minute+time.Second, 100)
	if len(r.Pauses) != 1 || r.Pauses[0].Step != 100 || r.Longest < 600 || r.Longest > 601 {
		t.Errorf("got %v, longest %g", r.Pauses, r.Longest)
	}
}

// Whatever comes: a job may be silent for as long as it was before at such a step, and no shorter than ten usual times; and
// what a keeper knew it knows after it was started anew.
func TestSilence_properties(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 7))
		var r rhythm
		step, stride := int64(0), 1+random.Int64N(50)
		r.Stride = stride
		every, usual := 1+random.Int64N(40), time.Duration(1+random.IntN(60000))*time.Millisecond
		for n := range random.Int64N(400) {
			in := usual/2 + time.Duration(random.Int64N(int64(usual)))
			paused := random.IntN(100) == 0 || n%every == 0 && seed%2 == 0
			if paused {
				in += time.Duration(random.IntN(5000)) * time.Second
			}
			r.beat(1, in, step)
			if got := r.silence(step, shortestSilence); got < in {
				t.Fatalf("seed %d: after step %d it paused for %s, and may do so for %s", seed, step, in, got)
			}
			step += stride
			if random.IntN(50) == 0 {
				step = max(0, step-100*stride) // it was started again
			}
		}
		least := time.Duration(random.IntN(int(time.Hour)))
		for _, after := range []int64{-1, 0, step, random.Int64()} {
			if got := r.silence(after, least); got < least || got < seconds(usualTimes*r.quantile(0.5)) {
				t.Fatalf("seed %d: %s after step %d", seed, got, after)
			}
		}
		text, err := json.Marshal(r)
		var again rhythm
		if err != nil || json.Unmarshal(text, &again) != nil || again.silence(step, least) != r.silence(step, least) {
			t.Fatalf("seed %d: %s, %v", seed, text, err)
		}
		if len(r.Pauses) > pausesKept || len(r.Gaps) > gapsKept {
			t.Fatalf("seed %d: %d pauses, %d gaps are kept", seed, len(r.Pauses), len(r.Gaps))
		}
	}
}
