package aws

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/wire"
	"github.com/muster-hpc/muster/test/soak"
)

// kinds are the two ways in which the last call of a killed muster ends.
var kinds = []cloud.Kind{cloud.LostCall, cloud.LostAnswer}

// TestKilled kills `up` and `down` at every call by which they change something: the
// same command again reaches the goal, with the same result as if nothing had
// happened, and `down` leaves nothing behind. The head node is a puppet: no machine
// boots. A sample of all kills is tried.
func TestKilled(t *testing.T) { tryKills(t, 5) }

// TestSoak_killed tries more of them, and all with MUSTER_ALL=1.
func TestSoak_killed(t *testing.T) {
	soak.Only(t, "more of what TestKilled tries a sample of")
	most := 24
	if os.Getenv("MUSTER_ALL") != "" {
		most = 1 << 30
	}
	tryKills(t, most)
}

// tryKills tries at most so many kills.
func tryKills(t *testing.T, most int) {
	t.Helper()
	t.Parallel()
	d := newDouble(t)
	u := d.newUser()
	upCalls := d.count(func() { u.must("undisturbed", up...) })
	want := d.state()
	downCalls := d.count(func() { u.must("undisturbed", down...) })
	d.empty("undisturbed")
	t.Logf("up changes something with %d calls, down with %d", upCalls, downCalls)

	trials := trialsOf(upCalls, downCalls)
	dice := rand.New(rand.NewPCG(uint64(len(trials)), 6))
	dice.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
	tried := trials[:min(most, len(trials))]
	for _, x := range tried {
		t.Logf("%+v", x)
		x.try(u, want)
	}
	t.Logf("%d of %d kills tried", len(tried), len(trials))
}

// count counts the calls by which users change something while act runs.
func (d *double) count(act func()) int {
	d.t.Helper()
	var n atomic.Int32
	lift := d.Fail(cloud.Rule{When: func(c *wire.Call) bool {
		if changes(c) {
			n.Add(1)
		}
		return false
	}})
	defer lift()
	act()
	return int(n.Load())
}

// trial is one life of a cluster, with one kill in `up` and one in `down`. A zero is
// no kill; straight goes from the killed `up` to `down`.
type trial struct {
	up, down int
	kind     cloud.Kind
	straight bool
}

func trialsOf(upCalls, downCalls int) []trial {
	var all []trial
	for _, kind := range kinds {
		for n := range max(upCalls, downCalls) {
			x := trial{kind: kind}
			if n < upCalls {
				x.up = n + 1
				all = append(all, trial{up: n + 1, kind: kind, straight: true})
			}
			if n < downCalls {
				x.down = n + 1
			}
			all = append(all, x)
		}
	}
	return all
}

func (x trial) try(u *user, want []string) {
	u.d.t.Helper()
	when := fmt.Sprintf("%s at call %d of up, %d of down", x.kind, x.up, x.down)
	if x.up > 0 {
		what, hit := u.killed(x.up, x.kind, up...)
		if when = what; !hit {
			u.d.t.Errorf("up has no call %d any more", x.up)
		}
	}
	if !x.straight {
		u.must(when, up...)
		if diff := cmp.Diff(want, u.d.state()); diff != "" {
			u.d.t.Errorf("%s: another state than undisturbed (-want +got):\n%s", when, diff)
		}
		if n := u.d.heads(); n != 1 {
			u.d.t.Errorf("%s: %d head nodes run", when, n)
		}
	}
	if x.down > 0 {
		what, hit := u.killed(x.down, x.kind, down...)
		if hit {
			when += "; " + what
		}
	}
	u.must(when, down...)
	u.d.empty(when)
}
