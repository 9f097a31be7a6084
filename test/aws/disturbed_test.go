package aws

import (
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// byUsers is a call of a user's muster, be it to look or to change something.
func byUsers(c *wire.Call) bool { return c.Key == "test" }

// TestDisturbed brings a cluster up and takes it down while AWS answers badly. What
// can be repeated is repeated, without a word from the user.
func TestDisturbed(t *testing.T) {
	for _, row := range []struct {
		name string
		rule cloud.Rule
	}{
		{"throttled_three_times_in_ten", cloud.Rule{Kind: cloud.Throttled, Chance: 0.3, Seed: 1}},
		{"errors_of_the_server_once_in_ten", cloud.Rule{Kind: cloud.Internal, Chance: 0.1, Seed: 2}},
		{"answers_lost_once_in_ten", cloud.Rule{Kind: cloud.LostAnswer, Chance: 0.1, Seed: 3}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := newDouble(t)
			u := d.newUser()
			row.rule.When = byUsers
			lift := d.Fail(row.rule)
			defer lift()
			for _, args := range [][]string{up, down} {
				if e := u.run(args...); e.code != 0 {
					t.Errorf("muster %s: %v", args[0], e)
				}
			}
			lift()
			u.must("afterwards", down...)
			d.empty(row.name)
		})
	}
}

// TestExpired lets the credentials expire in the middle: muster says so, and goes on
// with new ones.
func TestExpired(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	u := d.newUser()
	for _, args := range [][]string{up, down} {
		lift := d.Fail(cloud.Rule{Kind: cloud.Expired, When: byUsers, Skip: 30})
		e := u.run(args...)
		lift()
		if e.code != 1 || !strings.Contains(strings.ToLower(e.stderr), "expired") {
			t.Errorf("muster %s with credentials that expire: %v", args[0], e)
		}
		last := e.stderr[strings.LastIndex(strings.TrimSpace(e.stderr), "\n")+1:]
		t.Logf("muster %s said: %s", args[0], last)
		u.must("with new credentials", args...)
	}
	d.empty("in the end")
}

// TestTwoAtOnce has two users, each at their own machine, change the same cluster at
// the same time. Whoever comes second hears of it; together they make one cluster.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	one, two := d.newUser(), d.newUser()
	// together runs both and returns what came out of it.
	together := func(first, second []string) []ended {
		_, waitOne := one.start(first...)
		_, waitTwo := two.start(second...)
		all := []ended{waitOne(), waitTwo()}
		for i, e := range all {
			if e.code != 0 && e.code != 1 || e.code == 1 && !strings.Contains(e.stderr, "muster: ") {
				t.Errorf("%v and %v: user %d: %v", first[0], second[0], i+1, e)
			}
			t.Logf("%v and %v: user %d: exit code %d: %s", first[0], second[0], i+1, e.code, e.stderr[strings.LastIndex(strings.TrimSpace(e.stderr), "\n")+1:])
		}
		return all
	}
	together(up, up)
	one.must("after two at once", up...)
	two.must("after two at once", up...)
	if n := d.heads(); n != 1 {
		t.Errorf("%d head nodes run", n)
	}
	together(down, up)
	one.must("after up and down at once", down...)
	d.empty("after up and down at once")

	one.must("again", up...)
	together(down, down)
	two.must("after two at once", down...)
	d.empty("after two at once")
}

// TestStopped sends Ctrl-C in the middle.
func TestStopped(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	u := d.newUser()
	for _, row := range []struct {
		args []string
		says string
	}{
		{up, "`muster up` goes on from here, `muster down --cluster train` takes away what there is"},
		{down, "`muster down --cluster train` goes on from here"},
	} {
		var process atomic.Pointer[os.Process]
		ready := make(chan bool)
		lift := d.Fail(cloud.Rule{Kind: cloud.Delayed, When: changes, Skip: 4, Times: 1, Then: func(*wire.Call) {
			<-ready
			_ = process.Load().Signal(syscall.SIGINT) // it is there: its call waits for us
		}})
		p, wait := u.start(row.args...)
		process.Store(p)
		close(ready)
		e := wait()
		lift()
		if e.code != 130 || !strings.Contains(e.stderr, row.says) {
			t.Errorf("muster %s after Ctrl-C: want exit code 130 and %q, got %v", row.args[0], row.says, e)
		}
		u.must("after Ctrl-C", row.args...)
	}
	d.empty("in the end")
}
