package nodes_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/nodes"
	"github.com/muster-hpc/muster/internal/aws/nodes/journal"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/provider/providertest"
)

// death stops a process at its nth step: before or after a line of the journal,
// before EC2 hears of a call, after EC2 acted, or in the middle of its answer. From
// then on nothing that the process does reaches anybody.
type death struct {
	mu    sync.Mutex // guards what follows
	left  int
	dead  bool
	where string
}

// step tells whether the process is dead.
func (d *death) step(where string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.dead {
		d.dead = d.left == 0
		d.where = where
		d.left--
	}
	return d.dead
}

func (d *death) cut(when, action string) bool {
	return when != "never" && d.step(when+" "+action)
}

// mortal is a journal of a process that dies.
type mortal struct {
	nodes.Book
	death *death
}

var errDead = errors.New("the process is dead")

func (m mortal) write(what string, write func() error) error {
	if m.death.step("before " + what) {
		return errDead
	}
	if err := write(); err != nil {
		return err
	}
	if m.death.step("after " + what) {
		return errDead
	}
	return nil
}

func (m mortal) Begin(l journal.Launch) error {
	return m.write("Begin", func() error { return m.Book.Begin(l) })
}

func (m mortal) Answer(l journal.Launch) error {
	return m.write("Answer", func() error { return m.Book.Answer(l) })
}

func (m mortal) Settle(tokens ...string) error {
	return m.write("Settle", func() error { return m.Book.Settle(tokens...) })
}

// work is what the process is doing when it dies.
func work(t *testing.T, f *nodes.Fleet) {
	f.Launch(t.Context(), append(providertest.Orders(append(nodeNames("dy-s", 1, 3), nodeNames("dy-f", 1, 3)...)...), providertest.Whole(nodeNames("dy-r", 1, 4)...)), nil)
	_, _ = f.Observe(t.Context())
	_ = f.Terminate(t.Context(), nodeNames("dy-s", 1, 1))
	f.Launch(t.Context(), providertest.Orders(nodeNames("dy-s", 1, 1)...), nil)
}

// steer does what a controller does: it ends what is not wanted and launches what
// is missing.
func steer(t *testing.T, f *nodes.Fleet, wanted []string) {
	t.Helper()
	for range 8 {
		all, err := f.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var surplus []string
		missing := slices.Clone(wanted)
		for _, i := range all {
			if at := slices.Index(missing, i.Node); at >= 0 {
				missing = slices.Delete(missing, at, at+1)
				continue
			}
			name := i.Node
			if name == "" {
				name = i.ID
			}
			surplus = append(surplus, name)
		}
		_ = f.Terminate(t.Context(), surplus) // one that EC2 does not know yet is ended in the next round
		f.Launch(t.Context(), providertest.Orders(missing...), nil)
	}
}

// Wherever the process dies, the next one ends with one instance for each node that
// is wanted, and none besides.
func TestDeathAtEveryStep(t *testing.T) {
	everything := slices.Concat(nodeNames("dy-r", 1, 4), nodeNames("dy-s", 1, 3), nodeNames("dy-f", 1, 3))
	for name, row := range map[string]struct {
		wanted []string
		blind  int
		later  time.Duration
	}{
		"the_same_is_wanted":           {wanted: everything},
		"less_is_wanted":               {wanted: slices.Concat(nodeNames("dy-r", 3, 4), nodeNames("dy-s", 2, 2), nodeNames("dy-f", 1, 1))},
		"nothing_is_wanted":            {},
		"EC2_lags":                     {wanted: everything, blind: 2},
		"EC2_lags_and_less_is_wanted":  {wanted: nodeNames("dy-f", 2, 3), blind: 3},
		"an_hour_later":                {wanted: everything, later: time.Hour},
		"an_hour_later_less_is_wanted": {wanted: nodeNames("dy-s", 1, 2), later: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for step := 0; ; step++ {
				d := &death{left: step}
				if !dieAndGoOn(t, d, row.blind, row.later, row.wanted) {
					break
				}
				if t.Failed() {
					t.Fatalf("it died at step %d, %s", step, d.where)
				}
			}
		})
	}
}

// dieAndGoOn tells whether the process died before its work was done.
func dieAndGoOn(t *testing.T, d *death, blind int, later time.Duration, wanted []string) (died bool) {
	c := newCloud(t)
	c.blind = blind
	c.breaks(d.cut)
	config := c.config(t)
	config.Zone, config.ZoneName = "Z1", "c.muster."
	config.Limits.Attempts = 2
	first, err := nodes.OpenWith(t.Context(), config, func(b nodes.Book) nodes.Book { return mortal{b, d} })
	if err != nil {
		t.Fatal(err)
	}
	work(t, first)
	d.mu.Lock()
	died = d.dead
	d.dead = true // it is gone, whatever it was about to do
	d.mu.Unlock()
	_ = first.Close() // it is dead

	c.breaks(nil)
	before := len(c.instances)
	config.Now = func() time.Time { return time.Now().Add(later) }
	second := open(t, config)
	steer(t, second, wanted)
	want := observe(t, second)
	exactly(t, c, wanted)
	for _, i := range c.instances[before:] {
		if n := c.node(i); later > 0 && !slices.Contains(wanted, n) {
			t.Errorf("an old launch was asked for again and gave %s, which nobody wants", n)
		}
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(config.Journal); err != nil {
		t.Error(err)
	}
	third := open(t, config)
	if d := cmp.Diff(idsOf(want), idsOf(observe(t, third))); d != "" {
		t.Errorf("without its journal the fleet sees others: %s", d)
	}
	return died
}

func idsOf(all map[string]provider.Instance) map[string]string {
	of := map[string]string{}
	for n, i := range all {
		of[n] = i.ID
	}
	return of
}

// exactly holds that each node has one instance and that there are no others.
func exactly(t *testing.T, c *cloud, wanted []string) {
	t.Helper()
	var got []string
	for _, i := range c.living() {
		got = append(got, c.node(i))
	}
	slices.Sort(got)
	if len(c.doubles) > 0 {
		t.Errorf("nodes that had two instances: %v", c.doubles)
	}
	if d := cmp.Diff(slices.Sorted(slices.Values(wanted)), got); d != "" {
		t.Errorf("the nodes of the instances that cost money: %s", d)
	}
}

// A lost answer is asked for again by the same process.
func TestLostAnswers(t *testing.T) {
	for _, when := range []string{"before", "after", "half", "never"} {
		for _, action := range []string{"RunInstances", "CreateFleet", "DescribeInstances", "TerminateInstances"} {
			t.Run(when+"_"+action, func(t *testing.T) {
				t.Parallel()
				c := newCloud(t)
				config := c.config(t)
				if when == "never" {
					config.Limits.Answer = 10 * time.Second // an answer that comes has that time on any machine
				}
				f := open(t, config)
				lost := 0
				c.breaks(func(w, a string) bool {
					c.mu.Lock()
					defer c.mu.Unlock()
					if w != when || a != action || lost == 2 {
						return false
					}
					lost++
					return true
				})
				all := slices.Concat(nodeNames("dy-r", 1, 3), nodeNames("dy-f", 1, 3))
				launchAll(t, f, false, all...)
				if err := f.Terminate(t.Context(), nodeNames("dy-r", 1, 1)); err != nil {
					t.Error(err)
				}
				exactly(t, c, slices.Concat(nodeNames("dy-r", 2, 3), nodeNames("dy-f", 1, 3)))
				if lost != 2 {
					t.Errorf("%d answers were lost", lost)
				}
			})
		}
	}
}

// A launch without an answer is settled by the next that wants one of its nodes,
// also in the same process.
func TestLaunchWithoutAnswerIsAskedForAgain(t *testing.T) {
	c := newCloud(t)
	c.blind = 100
	f := open(t, c.config(t))
	c.breaks(func(when, action string) bool { return when == "after" && action == "RunInstances" })
	failed := f.Launch(t.Context(), providertest.Orders(nodeNames("dy-r", 1, 3)...), nil)
	if len(failed) != 3 || cause(t, failed["q-dy-r-1"]) != provider.Unknown {
		t.Fatalf("failed: %v", failed)
	}
	c.breaks(nil)
	launchAll(t, f, false, nodeNames("dy-r", 2, 5)...)
	exactly(t, c, nodeNames("dy-r", 1, 5))
	if got := len(observe(t, f)); got != 5 {
		t.Errorf("%d instances are observed", got)
	}
}

// What came of an old launch is seen, and not asked for: its token may start new
// instances, which nobody wants.
func TestOldLaunchIsNotAskedForAgain(t *testing.T) {
	c := newCloud(t)
	config := c.config(t)
	late := false
	config.Now = func() time.Time {
		if late {
			return time.Now().Add(time.Hour)
		}
		return time.Now()
	}
	f := open(t, config)
	c.breaks(func(when, action string) bool { return when == "before" && action == "RunInstances" })
	if failed := f.Launch(t.Context(), providertest.Orders(nodeNames("dy-r", 1, 3)...), nil); len(failed) != 3 {
		t.Fatalf("failed: %v", failed)
	}
	c.breaks(nil)
	late = true
	launchAll(t, f, false, "q-dy-r-1")
	exactly(t, c, nodeNames("dy-r", 1, 1))
}

// A token that was used for something else is not used again, until it is sure that
// nothing came of it.
func TestTokenOfAnotherRequest(t *testing.T) {
	c := newCloud(t)
	f := open(t, c.config(t))
	c.refuse["RunInstances"] = []refusal{{400, "IdempotentParameterMismatch", "the template has changed"}, {400, "IdempotentParameterMismatch", "the template has changed"}}
	for range 2 {
		if failed := f.Launch(t.Context(), providertest.Orders(nodeNames("dy-r", 1, 1)...), nil); cause(t, failed["q-dy-r-1"]) != provider.Unknown {
			t.Errorf("failed: %v", failed)
		}
	}
	c.refuse["RunInstances"] = []refusal{{400, "IdempotentInstanceTerminated", "they are over"}}
	launchAll(t, f, false, "q-dy-r-1")
	exactly(t, c, nodeNames("dy-r", 1, 1))
}

// A line of the journal that cannot be written is a launch that is not made.
func TestNothingIsLaunchedWithoutALineInTheJournal(t *testing.T) {
	c := newCloud(t)
	config := c.config(t)
	f, err := nodes.OpenWith(t.Context(), config, func(b nodes.Book) nodes.Book { return full{b} })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	failed := f.Launch(t.Context(), providertest.Orders(nodeNames("dy-r", 1, 3)...), nil)
	if len(failed) != 3 || !errors.Is(failed["q-dy-r-1"], errFull) || len(c.instances) > 0 {
		t.Errorf("failed: %v, %d instances", failed, len(c.instances))
	}
}

// full is a journal on a disk without room.
type full struct{ nodes.Book }

var errFull = errors.New("no space left on device")

func (full) Begin(journal.Launch) error { return errFull }

// A list of nodes that does not fit in one tag is divided.
func TestScatteredNodes(t *testing.T) {
	c := newCloud(t)
	config := c.config(t)
	f := open(t, config)
	var odd []string
	for n := 1; n <= 801; n += 2 {
		odd = append(odd, fmt.Sprintf("q-dy-r-%d", n))
	}
	launchAll(t, f, true, odd...)
	exactly(t, c, odd)
	want := idsOf(observe(t, f))
	for _, i := range c.living() {
		if len(i.tags["muster:nodes"]) > 256 || i.tags["muster:nodes.5"] == "" || i.tags["muster:role"] != "compute" || i.tags["muster:queue"] != "q" || i.tags["muster:resource"] != "r" {
			t.Fatalf("tags: %v", i.tags)
		}
	}
	if err := os.Remove(config.Journal); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, idsOf(observe(t, open(t, config)))); d != "" {
		t.Error(d)
	}
}
