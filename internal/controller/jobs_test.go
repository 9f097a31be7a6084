package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

// queue are Slurm's jobs.
type queue struct {
	jobs     []slurm.Job
	fails    error
	requeued []string
	canceled []string
}

func (q *queue) Jobs(context.Context) ([]slurm.Job, []slurm.Problem, error) {
	return q.jobs, nil, q.fails
}

func (q *queue) Requeue(_ context.Context, job string) error {
	q.requeued = append(q.requeued, job)
	return nil
}

func (q *queue) Cancel(_ context.Context, job string) error {
	q.canceled = append(q.canceled, job)
	return nil
}

// TestRequeue_finds_jobs_without_their_script, of whose loss it has no note: another
// controller told Slurm, or Slurm found out by itself.
func TestRequeue_finds_jobs_without_their_script(t *testing.T) {
	job := slurm.Job{State: "RUNNING", Batch: true, BatchHost: "n-1", NodeList: "n-[2-3]"}
	again, once, whole, alive := job, job, job, job
	again.ID, again.ArrayJobID, again.ArrayTask, again.Requeue = 1, 1, "4", true // the others of the array are well
	once.ID = 2
	whole.ID, whole.NodeList, whole.Requeue = 3, "n-[1-3]", true
	alive.ID, alive.Batch, alive.Requeue = 4, false, true // salloc's
	q := &queue{jobs: []slurm.Job{again, once, whole, alive}}
	events, err := OpenEvents(filepath.Join(t.TempDir(), "events"))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	c := New(Config{Jobs: q, Events: events})
	for range 2 {
		if err := c.requeue(t.Context()); err != nil || !slices.Equal(q.requeued, []string{"1_4"}) || !slices.Equal(q.canceled, []string{"2"}) {
			t.Errorf("requeued %q, canceled %q, %v", q.requeued, q.canceled, err)
		}
	}
	up, down := slurm.Node{Name: "n-2", State: slurm.ParseNodeState("IDLE")}, slurm.Node{Name: "n-2", State: slurm.ParseNodeState("DOWN")}
	for _, step := range []struct {
		state slurm.Node
		want  int
	}{{up, 1}, {down, 2}, {down, 2}} {
		c.noteDown([]slurm.Node{step.state})
		c.noteHands([]slurm.Node{step.state})
		if err := c.requeue(t.Context()); err != nil || len(q.requeued) != step.want {
			t.Errorf("%s: requeued %q, %v", step.state.State, q.requeued, err)
		}
	}
}

func TestKilled_by_a_signal(t *testing.T) {
	for _, row := range []struct {
		code slurm.ExitCode
		want bool
	}{{slurm.ExitCode{}, false}, {slurm.ExitCode{Code: 1}, false}, {slurm.ExitCode{Code: 128}, false}, {slurm.ExitCode{Code: 129}, true}, {slurm.ExitCode{Signal: 9}, true}} {
		if got := killed(row.code); got != row.want {
			t.Errorf("%+v: %v", row.code, got)
		}
	}
}

// TestRequeue_remembers_losses_for_a_while: Slurm may fail the jobs of a node a little
// later than it hears of the loss.
func TestRequeue_remembers_losses_for_a_while(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		c := New(Config{Jobs: q})
		c.losses = []fleet.Loss{{Node: "n", Noticed: time.Now()}}
		for _, step := range []struct {
			wait time.Duration
			left int
		}{{0, 1}, {lossKept, 1}, {1, 0}} {
			<-time.After(step.wait)
			if err := c.requeue(t.Context()); err != nil || len(c.losses) != step.left {
				t.Errorf("after %s: %d losses, %v", step.wait, len(c.losses), err)
			}
		}
	})
}

// TestRequested_remembers_jobs_that_wait holds for how long a job is remembered, and what
// a call is news of.
func TestRequested_remembers_jobs_that_wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{})
		c.resumed, c.rising, c.launching = map[string]time.Time{}, map[string]bool{"up": true}, map[string]bool{}
		call := resumption{nodes: []string{"up", "off"}, jobs: []fleet.PendingJob{{Job: 1, Nodes: []string{"up"}}, {Job: 2, Nodes: []string{"off"}}}, at: time.Now()}
		jobs := func() (ids []int) {
			for _, w := range c.pending {
				ids = append(ids, w.Job)
			}
			return ids
		}
		c.requested([]resumption{call})
		if got := slices.Sorted(maps.Keys(c.resumed)); !slices.Equal(got, []string{"off"}) {
			t.Errorf("%q were resumed, want the one that was not on its way", got)
		}
		for _, step := range []struct {
			wait  time.Duration
			calls []resumption
			want  []int
		}{{0, nil, []int{1, 2}}, {pendingKept, nil, []int{1, 2}}, {0, []resumption{call}, []int{1, 2}}, {1, nil, []int{1}}} {
			<-time.After(step.wait)
			if c.requested(step.calls); !slices.Equal(jobs(), step.want) {
				t.Errorf("after %s: jobs %d, want %d", step.wait, jobs(), step.want)
			}
		}
	})
}

func TestWaiting_are_those_with_nodes_that_do_not_run(t *testing.T) {
	got := waiting([]slurm.Job{
		{ID: 3, State: "CONFIGURING", NodeList: "n-[1-2]"}, {ID: 1, State: "RUNNING", NodeList: "n-3"}, {ID: 2, State: "PENDING", NodeList: "n-4"},
		{ID: 4, State: "COMPLETED", NodeList: "n-5"}, {ID: 5, State: "CONFIGURING"}, {ID: 6, State: "CONFIGURING", NodeList: "n-["},
	})
	want := []fleet.PendingJob{{Job: 1, Nodes: []string{"n-3"}}, {Job: 3, Nodes: []string{"n-1", "n-2"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUntilWhen asks Slurm for the ends of jobs where a node with jobs is to go, and
// nowhere else.
func TestUntilWhen(t *testing.T) {
	soon, late := time.Date(2026, 3, 1, 1, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	jobs := []slurm.Job{
		{ID: 1, State: "RUNNING", NodeList: "n", EndTime: late}, {ID: 2, State: "RUNNING", NodeList: "n", EndTime: soon},
		{ID: 3, State: "PENDING", NodeList: "n", EndTime: late.Add(1)}, {ID: 4, State: "FAILED", NodeList: "n", EndTime: late.Add(2)},
		{ID: 5, State: "RUNNING", NodeList: "n[", EndTime: late.Add(3)},
	}
	busy := fleet.Node{Name: "n", State: fleet.Up, Busy: true}
	ill := []provider.HealthEvent{{Code: "impaired"}}
	for _, row := range []struct {
		name   string
		node   func(*fleet.Node)
		health []provider.HealthEvent
		fails  error
		want   time.Time
	}{
		{"ill_and_busy", func(*fleet.Node) {}, ill, nil, late},
		{"well", func(*fleet.Node) {}, nil, errors.New("asked"), time.Time{}},
		{"idle", func(n *fleet.Node) { n.Busy = false }, ill, errors.New("asked"), time.Time{}},
		{"coming", func(n *fleet.Node) { n.State = fleet.PoweringUp }, ill, errors.New("asked"), time.Time{}},
		{"closed", func(n *fleet.Node) { n.Closed = true }, ill, errors.New("asked"), time.Time{}},
		{"another_is_ill", func(n *fleet.Node) { n.Name = "m" }, ill, errors.New("asked"), time.Time{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := New(Config{Jobs: &queue{jobs: jobs, fails: row.fails}})
			w := fleet.World{Nodes: []fleet.Node{busy}, Instances: []provider.Instance{{Node: "n", Health: row.health}}}
			row.node(&w.Nodes[0])
			if err := c.untilWhen(t.Context(), &w); err != nil || !w.Nodes[0].Until.Equal(row.want) {
				t.Errorf("until %s, %v; want %s", w.Nodes[0].Until, err, row.want)
			}
		})
	}
	c := New(Config{Jobs: &queue{fails: errors.New("no answer")}})
	if err := c.untilWhen(t.Context(), &fleet.World{Nodes: []fleet.Node{busy}, Instances: []provider.Instance{{Node: "n", Health: ill}}}); err == nil {
		t.Error("without an answer all is well")
	}
}

// TestTellBlind tells once of all machines that cannot see the same.
func TestTellBlind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	events, err := OpenEvents(path)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	c := New(Config{Events: events})
	for i, blind := range []string{"", "1", "1", "", "2", "1"} {
		c.tellBlind(join.Ready{Node: fmt.Sprint("n-", i), Blind: blind})
	}
	if got := reasonsOf(t, path); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("told of %d, want each once", got)
	}
}

// TestProven tells once what each machine proved, and gives up one that is unfit. A controller that starts anew does not say again what
// another has told, and gives up what nobody has given up yet.
func TestProven(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	events, err := OpenEvents(path)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	c := New(Config{Events: events, Reports: t.TempDir()})
	told := provider.Instance{ID: "i-1", Node: "n-1", Proof: &provider.Proof{Said: "1"}}
	bare := provider.Instance{ID: "i-2", Node: "n-2"}
	unfit := provider.Instance{ID: "i-3", Node: "n-3", Proof: &provider.Proof{Unfit: "3", Evidence: []string{"a line"}, Report: []byte("{}")}}
	forged := provider.Instance{ID: "i-4", Node: "n-4", Proof: &provider.Proof{Unfit: "4"}} // a node in service
	c.rising["n-3"] = true
	c.registry.started([]provider.Instance{told, bare, unfit, forged})
	c.proven(t.Context(), []provider.Instance{told, bare, unfit, forged})
	if len(c.inbox.bootFailed) != 1 || c.inbox.bootFailed["i-3"] != "its boot failed at burn in: 3" {
		t.Errorf("failed: %v", c.inbox.bootFailed)
	}
	bare.Proof = &provider.Proof{Said: "2", Blind: "7"}
	for range 2 {
		c.proven(t.Context(), []provider.Instance{told, bare})
	}
	later := New(Config{Events: events})
	reused := provider.Instance{ID: "i-2", Node: "n-5", Started: time.Now().Add(time.Hour), Proof: &provider.Proof{Said: "5"}} // another life under its name
	ended := provider.Instance{ID: "i-6", Node: "n-6", Proof: &provider.Proof{Said: "6"}}                                      // while no controller ran
	later.proven(t.Context(), []provider.Instance{told, reused, ended, forged})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join(append([]string{e.Kind, e.List, e.Reason}, e.Log...), " "))
		if _, err := os.Stat(e.Report); (err == nil) != (e.Kind == "boot failed") {
			t.Errorf("%s: its report is %q: %v", e.Kind, e.Report, err)
		}
	}
	if want := []string{"burn-in n-1 1", "boot failed n-3 burn in: 3 a line", "burn-in n-2 2", "blind n-2 7", "burn-in n-5 5", "burn-in n-6 6"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// TestKeepReport keeps what an unfit machine found, the newest of many, and is stopped by nothing that is in its way.
func TestKeepReport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log", "burn-in")
	var log strings.Builder
	c := New(Config{Reports: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, row := range []struct{ node, report string }{{"", "{}"}, {"n-1", ""}} {
		if path := c.keepReport(row.node, []byte(row.report)); path != "" {
			t.Errorf("%+v: kept as %s", row, path)
		}
	}
	first := c.keepReport("n-1", []byte(`{"schema":1}`))
	if text, err := os.ReadFile(first); string(text) != `{"schema":1}`+"\n" || err != nil || !strings.HasPrefix(filepath.Base(first), "20") || !strings.HasSuffix(first, "Z-n-1.json") {
		t.Errorf("%s has %q, %v", first, text, err)
	}
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	for i := range mostReports + 2 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("20260101T%06d.000Z-n-2.json", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "20000101-mine.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	last := c.keepReport("n-3", []byte(`{}`))
	left, err := filepath.Glob(dir + "/*.json")
	if err != nil || len(left) != mostReports || left[0] != dir+"/20260101T000003.000Z-n-2.json" || left[mostReports-1] != last {
		t.Errorf("%d are left, %q, %v", len(left), left, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "20000101-mine.txt")); err != nil {
		t.Error(err)
	}
	c.Reports = filepath.Join(last, "no directory")
	if path := c.keepReport("n-3", []byte(`{}`)); path != "" || !strings.Contains(log.String(), "a burn-in's report is not kept") {
		t.Errorf("kept as %q: %s", path, log.String())
	}
}

func TestSettleAccounts_tells_of_jobs_that_were_lost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, row := range []struct {
			lost  []string
			err   error
			log   string
			again bool
		}{
			{nil, nil, "", false},
			{[]string{"7", "8"}, nil, `jobs=7,8`, false},
			{nil, errors.New("no answer"), `error="no answer"`, true},
		} {
			var log strings.Builder
			c := New(Config{
				Trust: time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil)),
				EndRunaways: func(context.Context) ([]string, error) { return row.lost, row.err },
			})
			c.settleAt = time.Now()
			c.settleAccounts(t.Context())
			if got := log.String(); !strings.Contains(got, row.log) || (got == "") != (row.log == "") {
				t.Errorf("%v, %v: logged %q", row.lost, row.err, got)
			}
			if again := c.settleAt.Equal(time.Now().Add(c.Trust)); again != row.again || !again && !c.settleAt.IsZero() {
				t.Errorf("%v, %v: again at %s", row.lost, row.err, c.settleAt)
			}
		}
	})
}

// TestRegistry_takes_out_what_ended, by node or ID, and nothing else.
func TestRegistry_takes_out_what_ended(t *testing.T) {
	for _, row := range []struct {
		names []string
		left  []string
	}{{nil, []string{"i-1", "i-2", "i-3"}}, {[]string{"n-1"}, []string{"i-2", "i-3"}}, {[]string{"i-2", "i-3"}, []string{"i-1"}}, {[]string{""}, []string{"i-1", "i-2", "i-3"}}} {
		r := newRegistry()
		r.started([]provider.Instance{{ID: "i-1", Node: "n-1"}, {ID: "i-2", Node: "n-2"}, {ID: "i-3"}})
		r.ended(row.names)
		if got := slices.Sorted(maps.Keys(r.byID)); !slices.Equal(got, row.left) {
			t.Errorf("without %q: %q, want %q", row.names, got, row.left)
		}
	}
}

func TestTroubles_begin_with_the_controllers_own(t *testing.T) {
	for _, row := range []struct{ trouble, want string }{{"", "block"}, {"no answer", "the controller cannot do its work: no answer; block"}} {
		c := &Controller{trouble: row.trouble, over: []string{"block"}}
		if got := strings.Join(c.troubles(), "; "); got != row.want {
			t.Errorf("got %s, want %s", got, row.want)
		}
	}
}

func TestForgetBoots_of_instances_that_are_gone(t *testing.T) {
	c := &Controller{bootFailed: map[string]string{"i-1": "no disk", "i-2": "no disk"}}
	c.forgetBoots([]provider.Instance{{ID: "i-1"}, {ID: "i-3"}})
	if got := slices.Sorted(maps.Keys(c.bootFailed)); !slices.Equal(got, []string{"i-1"}) {
		t.Errorf("%q are remembered", got)
	}
}
