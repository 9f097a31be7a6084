package nodes_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/aws/nodes"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/provider/providertest"
)

func TestManyPages(t *testing.T) {
	c := newCloud(t)
	config := c.config(t)
	config.Zone, config.ZoneName = "Z1", "c.muster"
	f := open(t, config)
	launchAll(t, f, false, nodeNames("dy-r", 1, 2500)...)
	if got, named := len(observe(t, f)), len(c.recordsOf()); got != 2500 || named != 2500 {
		t.Errorf("%d instances are observed, %d have names", got, named)
	}
	// What is listed on two pages is there once; half a list is an error.
	c.breaks(func(when, action string) bool { return when == "before" && action == "DescribeInstances" })
	if all, err := f.Observe(t.Context()); err == nil || len(all) > 0 {
		t.Errorf("%d instances, %v", len(all), err)
	}
}

// clone adds an instance with the tags of another, as the console does.
func (c *cloud) clone(of *instance, change func(*instance)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	copied := *of
	copied.id, copied.number, copied.tags = "i-0123456789abcdef0", 999, maps.Clone(of.tags)
	copied.launched = of.launched.Add(time.Minute)
	change(&copied)
	c.instances = append(c.instances, &copied)
}

func TestInstancesWithoutANode(t *testing.T) {
	for name, change := range map[string]func(*instance){
		"a_copy":          func(*instance) {},
		"no_launch":       func(i *instance) { delete(i.tags, "muster:launch") },
		"index_too_large": func(i *instance) { i.index = 7 },
		"spoilt_list":     func(i *instance) { i.tags["muster:nodes"] = "q-[1-"; i.tags["muster:launch"] = "other" },
		"unknown_fleet":   func(i *instance) { i.tags["aws:ec2:fleet-id"] = "fleet-9" },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			config := c.config(t)
			launchAll(t, open(t, config), true, nodeNames("dy-r", 1, 2)...)
			c.clone(c.instances[0], change)
			f := open(t, config)
			if got := observe(t, f); len(got) != 3 || got[""].ID != "i-0123456789abcdef0" {
				t.Fatalf("observed: %v", got)
			}
			if err := f.Terminate(t.Context(), []string{"i-0123456789abcdef0"}); err != nil {
				t.Error(err)
			}
			exactly(t, c, nodeNames("dy-r", 1, 2))
			if got := observe(t, f); len(got) != 2 {
				t.Errorf("observed: %v", got)
			}
		})
	}
}

// Others' instances are not ours: not those of other clusters, not the head node.
func TestOthersAreNotSeen(t *testing.T) {
	c := newCloud(t)
	f := open(t, c.config(t))
	launchAll(t, f, false, "q-dy-r-1")
	c.clone(c.instances[0], func(i *instance) { i.tags["muster:cluster"] = "other" })
	c.clone(c.instances[0], func(i *instance) { i.tags["muster:role"] = "head" })
	if got := observe(t, f); len(got) != 1 {
		t.Errorf("observed: %v", got)
	}
}

// An instance that EC2 does not show yet lives; one that it shows as ended does not,
// and one that it never shows does not for ever.
func TestLag(t *testing.T) {
	c := newCloud(t)
	c.blind = 6
	config := c.config(t)
	ahead := time.Duration(0)
	config.Now = func() time.Time { return time.Now().Add(ahead) }
	f := open(t, config)
	launchAll(t, f, false, nodeNames("dy-r", 1, 2)...)
	if got := observe(t, f); len(got) != 2 {
		t.Errorf("observed: %v", got)
	}
	if got := observe(t, open(t, config)); len(got) != 2 {
		t.Errorf("observed after a restart: %v", got)
	}
	c.instances[0].blind = 0
	c.kill(c.instances[0].id)
	if got := observe(t, f); len(got) != 1 {
		t.Errorf("observed after an end: %v", got)
	}
	if got := <-f.Ended(); got != "q-dy-r-1" {
		t.Errorf("%s ended", got)
	}
	c.instances[1].blind = 1000
	ahead = 5 * time.Minute
	if got := observe(t, f); len(got) != 0 {
		t.Errorf("observed after five minutes: %v", got)
	}
	if got := <-f.Ended(); got != "q-dy-r-2" {
		t.Errorf("%s ended", got)
	}
}

// An instance that was ended is gone, even if EC2 shows it for a while; and not for
// ever, should EC2 not have ended it.
func TestEndedIsGone(t *testing.T) {
	c := newCloud(t)
	config := c.config(t)
	ahead := time.Duration(0)
	config.Now = func() time.Time { return time.Now().Add(ahead) }
	f := open(t, config)
	launchAll(t, f, false, nodeNames("dy-r", 1, 2)...)
	if err := f.Terminate(t.Context(), nodeNames("dy-r", 1, 1)); err != nil {
		t.Fatal(err)
	}
	c.instances[0].state = "running"
	if got := observe(t, f); len(got) != 1 {
		t.Errorf("observed: %v", got)
	}
	ahead = 5 * time.Minute
	if got := observe(t, f); len(got) != 2 {
		t.Errorf("observed later: %v", got)
	}
}

// An end that was asked for is no news, even to a look that sees it before EC2 has answered: neither what EC2 answers nor an answer
// that is lost changes that.
func TestWantedEndIsNoNews(t *testing.T) {
	for _, state := range []string{"shutting-down", "stopped"} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s_lost_%t", state, lost), func(t *testing.T) {
				c := newCloud(t)
				f := open(t, c.config(t))
				launchAll(t, f, false, nodeNames("dy-r", 1, 2)...)
				looked := false
				c.breaks(func(when, action string) bool {
					if when != "after" || action != "TerminateInstances" || looked {
						return false
					}
					looked = true
					c.mu.Lock()
					c.instances[0].state = state
					c.mu.Unlock()
					observe(t, f)
					return lost
				})
				if err := f.Terminate(t.Context(), nodeNames("dy-r", 1, 1)); err != nil {
					t.Fatal(err)
				}
				c.mu.Lock()
				c.instances[1].state = "shutting-down"
				c.mu.Unlock()
				observe(t, f)
				if got := <-f.Ended(); !looked || got != "q-dy-r-2" || len(f.Ended()) > 0 {
					t.Errorf("news of the end of %s, and of %d more", got, len(f.Ended()))
				}
			})
		}
	}
}

func TestTerminateWhatEC2DoesNotKnow(t *testing.T) {
	c := newCloud(t)
	c.blind = 3
	f := open(t, c.config(t))
	launchAll(t, f, false, nodeNames("dy-r", 1, 3)...)
	c.instances[1].blind = 0
	if err := f.Terminate(t.Context(), append(nodeNames("dy-r", 1, 3), "i-0badbadbadbadbad0")); err == nil {
		t.Error("the end of an instance that EC2 does not know yet is no error")
	}
	exactly(t, c, []string{"q-dy-r-1", "q-dy-r-3"})
	if got := observe(t, f); len(got) != 2 {
		t.Errorf("observed: %v", got)
	}
	for _, i := range c.instances {
		i.blind = 0
	}
	if err := f.Terminate(t.Context(), nodeNames("dy-r", 1, 3)); err != nil {
		t.Error(err)
	}
	exactly(t, c, nil)
}

func TestDoubts(t *testing.T) {
	c := newCloud(t)
	config := c.config(t)
	ahead := time.Duration(0)
	config.Now = func() time.Time { return time.Now().Add(ahead) }
	f := open(t, config)
	launchAll(t, f, false, nodeNames("dy-r", 1, 2)...)
	c.status["system-status.status"] = `<item><instanceId>` + c.instances[0].id + `</instanceId>
  <systemStatus><status>impaired</status><details><item><name>reachability</name><status>failed</status><impairedSince>2026-11-21T20:00:00Z</impairedSince></item></details></systemStatus>
  <instanceStatus><status>initializing</status></instanceStatus></item>`
	c.status["event.code"] = `<item><instanceId>` + c.instances[1].id + `</instanceId><eventsSet>
  <item><code>instance-retirement</code><description>The instance is running on degraded hardware</description><notBefore>2026-12-01T00:00:00Z</notBefore></item>
  <item><code>system-reboot</code><description>[Completed] scheduled reboot</description></item>
  <item><code>system-maintenance</code><description>[Canceled] The instance is undergoing maintenance</description></item></eventsSet></item>`
	if got := observe(t, f)["q-dy-r-1"].Health; len(got) > 0 {
		t.Errorf("health events before it was time to ask: %v", got)
	}
	asked := c.called("DescribeInstanceStatus")
	ahead = time.Minute
	got := observe(t, f)
	want := map[string][]provider.HealthEvent{
		"q-dy-r-1": {{Code: "impaired", Text: "the system status check fails", Since: time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)}},
		"q-dy-r-2": {{Code: "instance-retirement", Text: "The instance is running on degraded hardware", NotBefore: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}},
	}
	if d := cmp.Diff(want, map[string][]provider.HealthEvent{"q-dy-r-1": got["q-dy-r-1"].Health, "q-dy-r-2": got["q-dy-r-2"].Health}); d != "" {
		t.Error(d)
	}
	if n := c.called("DescribeInstanceStatus") - asked; n != 4 {
		t.Errorf("%d calls", n)
	}
	// Without an answer the old ones stand.
	c.refuse["DescribeInstanceStatus"] = []refusal{{403, "UnauthorizedOperation", "no"}}
	ahead = 2 * time.Minute
	if d := cmp.Diff(want["q-dy-r-1"], observe(t, f)["q-dy-r-1"].Health); d != "" {
		t.Error(d)
	}
}

func TestNames(t *testing.T) {
	c := newCloud(t)
	config := c.config(t)
	config.Zone, config.ZoneName = "Z1", "c.muster."
	c.refuse["ChangeResourceRecordSets"] = []refusal{{400, "Throttling", "Rate exceeded"}, {400, "PriorRequestNotComplete", "wait"}}
	f := open(t, config)
	launchAll(t, f, false, nodeNames("dy-r", 1, 3)...)
	if got, want := c.recordsOf(), map[string]string{
		"q-dy-r-1.c.muster": c.instances[0].address(), "q-dy-r-2.c.muster": c.instances[1].address(), "q-dy-r-3.c.muster": c.instances[2].address(),
	}; !maps.Equal(got, want) {
		t.Errorf("records are %v, want %v", got, want)
	}
	// A record that somebody changed stays; the others go.
	c.mu.Lock()
	c.records["q-dy-r-2.c.muster"] = "10.9.9.9"
	c.mu.Unlock()
	if err := f.Terminate(t.Context(), nodeNames("dy-r", 1, 3)); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		return slices.Equal(slices.Collect(maps.Keys(c.recordsOf())), []string{"q-dy-r-2.c.muster"})
	})
	// Names that cannot be made are failures of their nodes, and are made later.
	c.mu.Lock()
	c.refuse["ChangeResourceRecordSets"] = []refusal{{403, "AccessDenied", "no"}}
	c.mu.Unlock()
	failed := f.Launch(t.Context(), providertest.Orders(nodeNames("dy-r", 2, 2)...), nil)
	if failed["q-dy-r-2"] == nil {
		t.Error("a node without a name is no failure")
	}
	until(t, func() bool {
		observe(t, f)
		return c.recordsOf()["q-dy-r-2.c.muster"] == c.instances[3].address()
	})
}

func (c *cloud) recordsOf() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.records)
}

// until waits for what a goroutine has to do.
func until(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(5 * time.Minute)
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it does not happen")
		}
	}
}

func TestMove(t *testing.T) {
	c := newCloud(t)
	config := c.config(t)
	f := open(t, config)
	launchAll(t, f, false, nodeNames("dy-r", 1, 2)...)
	first := c.instances[0]
	if err := f.Move(t.Context(), map[string]string{"q-dy-r-1": "q-dy-r-9"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Move(t.Context(), map[string]string{"q-dy-r-9": "q-dy-r-2"}); err == nil {
		t.Error("a node has two instances")
	}
	c.refuse["CreateTags"] = []refusal{{403, "UnauthorizedOperation", "no"}}
	if err := f.Move(t.Context(), map[string]string{"q-dy-r-2": "q-dy-r-8"}); err == nil {
		t.Error("an instance has a node that its tags do not say")
	}
	again := open(t, config)
	observe(t, again)
	for _, who := range []map[string]provider.Instance{observe(t, f), observe(t, again)} {
		if len(who) != 2 || who["q-dy-r-9"].ID != first.id || who["q-dy-r-9"].Address != netip.MustParseAddr(first.address()) {
			t.Errorf("observed: %v", who)
		}
	}
}

// A machine that was stopped is nobody's node any more, and is there to be ended.
func TestStopped(t *testing.T) {
	c := newCloud(t)
	f := open(t, c.config(t))
	launchAll(t, f, false, "q-dy-r-1")
	c.instances[0].state = "stopped"
	for range 2 {
		if got := observe(t, f); len(got) != 1 || got[""].ID != c.instances[0].id {
			t.Errorf("observed: %v", got)
		}
	}
	if got := <-f.Ended(); got != "q-dy-r-1" {
		t.Errorf("%s ended", got)
	}
	launchAll(t, f, false, "q-dy-r-1")
	if err := f.Terminate(t.Context(), []string{c.instances[0].id}); err != nil {
		t.Fatal(err)
	}
	if got := observe(t, f); len(got) != 1 || got["q-dy-r-1"].ID != c.instances[1].id {
		t.Errorf("observed: %v", got)
	}
}

// TestFleetsAreAskedForTheirUnknownNodes holds that EC2 is asked for a fleet's instances
// where neither the journal nor a tag says whose they are, and nowhere else.
func TestFleetsAreAskedForTheirUnknownNodes(t *testing.T) {
	c := newCloud(t)
	config := c.config(t)
	f := open(t, config)
	launchAll(t, f, false, "q-dy-f-1", "q-dy-r-1")
	observe(t, f)
	if n := c.called("DescribeFleets"); n != 0 {
		t.Errorf("%d calls for what the journal knows", n)
	}
	fresh := func() *nodes.Fleet {
		config.Journal = filepath.Join(t.TempDir(), "launches")
		return open(t, config)
	}
	c.refuse["DescribeFleets"] = []refusal{{403, "UnauthorizedOperation", "no"}}
	without := fresh()
	if _, err := without.Observe(t.Context()); err == nil {
		t.Error("half a picture is taken for a whole one")
	}
	if got := observe(t, without); len(got) != 2 || got["q-dy-f-1"].ID == "" || got["q-dy-r-1"].ID == "" {
		t.Errorf("observed: %v", got)
	}
	if err := f.Move(t.Context(), map[string]string{"q-dy-f-1": "q-dy-f-2"}); err != nil {
		t.Fatal(err)
	}
	before := c.called("DescribeFleets")
	if got := observe(t, fresh()); len(got) != 2 || got["q-dy-f-2"].ID == "" || c.called("DescribeFleets") != before {
		t.Errorf("after %d calls: %v", c.called("DescribeFleets")-before, got)
	}
}

func TestOpenTellsOfADamagedJournal(t *testing.T) {
	for text, want := range map[string]bool{"": false, "no line of ours\n": true} {
		c := newCloud(t)
		config := c.config(t)
		var log strings.Builder
		config.Log = slog.New(slog.NewTextHandler(&log, nil))
		if err := os.WriteFile(config.Journal, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		open(t, config)
		if got := strings.Contains(log.String(), "are damaged"); got != want {
			t.Errorf("%q: the log says %q", text, &log)
		}
	}
}
