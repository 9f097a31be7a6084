package job_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

// act is what Slurm says from a time on, and what has happened by then.
type act struct {
	after time.Duration
	job   slurm.Job
	err   error
	// output is added to the job's output file, or replaces it if anew.
	output string
	anew   bool
}

// play is a Slurm that says what it is told to, by the clock.
type play struct {
	t     *testing.T
	start time.Time
	acts  []act
	nodes []slurm.Node
	runs  []slurm.Run
	out   string
	// fates are the answers to what follows the end of a run, by the clock.
	fates []fateAct
}

func (p *play) Job(context.Context, int) (slurm.Job, error) {
	if len(p.acts) > 1 && time.Since(p.start) >= p.acts[1].after {
		p.acts = p.acts[1:]
	}
	a := &p.acts[0]
	mode := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if a.anew {
		mode = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	}
	if a.output != "" {
		f, err := os.OpenFile(p.out, mode, 0o644)
		if err != nil {
			p.t.Error(err)
			return a.job, a.err
		}
		_, err = f.WriteString(a.output)
		if err := errors.Join(err, f.Close()); err != nil {
			p.t.Error(err)
		}
		a.output = ""
	}
	a.job.ID, a.job.StdOut, a.job.StdErr = 7, p.out, p.out
	return a.job, a.err
}

func (p *play) Nodes(context.Context) ([]slurm.Node, error) { return p.nodes, nil }

func (p *play) History(context.Context, slurm.Window) ([]slurm.Run, []slurm.Problem, error) {
	return p.runs, nil, nil
}

func (p *play) Script(context.Context, int) ([]byte, error) { return nil, nil }

// follow follows job 7 and returns what its user sees, and how long it took.
func (p *play) follow(t *testing.T, ctx context.Context) (shown string, took time.Duration, v job.View, err error) {
	t.Helper()
	p.t, p.start, p.out = t, time.Now(), filepath.Join(t.TempDir(), "out")
	var b bytes.Buffer
	f := job.Follower{Slurm: p, Out: &b, Err: io.Discard, Say: func(line string) { b.WriteString("* " + line + "\n") }}
	if p.fates != nil {
		f.Fate = p.fate
	}
	v, err = f.Follow(ctx, 7)
	return b.String(), time.Since(p.start), v, err
}

func job7(state, reason, nodes string, restarts int) slurm.Job {
	return slurm.Job{State: state, Reason: reason, NodeList: nodes, Restarts: restarts, Requeue: true}
}

func TestFollow(t *testing.T) {
	lost := slurm.Node{Name: "q-2", State: slurm.ParseNodeState("DOWN"), Reason: "muster: the instance ended"}
	cases := map[string]struct {
		play play
		want []string
	}{
		"from_queue_to_end": {play{acts: []act{
			{job: job7("PENDING", "Resources", "", 0)},
			{after: time.Minute, job: job7("RUNNING", "", "q-1", 0), output: "one\n"},
			{after: 2 * time.Minute, job: job7("RUNNING", "", "q-1", 0), output: "two\n"},
			{after: 3 * time.Minute, job: job7("COMPLETED", "", "q-1", 0), output: "three\n"},
		}}, []string{"* waits for free nodes", "* runs on q-1", "one", "two", "three", "* completed"}},
		"node_lost": {play{nodes: []slurm.Node{lost}, acts: []act{
			{job: job7("RUNNING", "", "q-[1-2]", 0), output: "one\n"},
			{after: time.Second, job: job7("PENDING", "Resources", "", 1), output: "cut\n"},
			{after: 2 * time.Second, job: job7("RUNNING", "", "q-[1-2]", 1), output: "again\n", anew: true},
			{after: 3 * time.Second, job: job7("COMPLETED", "", "q-[1-2]", 1)},
		}}, []string{"* runs on q-[1-2]", "one", "cut",
			"* went back into the queue because node q-2 failed (the instance ended)", "* waits for free nodes",
			"* runs on q-[1-2], attempt 2", "again", "* completed"}},
		"slurm_away_for_a_while": {play{acts: []act{
			{job: job7("RUNNING", "", "q-1", 0), output: "one\n"},
			{after: time.Second, err: slurm.ErrUnreachable, output: "two\n"},
			{after: time.Minute, job: job7("RUNNING", "", "q-1", 0)},
			{after: 2 * time.Minute, job: job7("COMPLETED", "", "q-1", 0)},
		}}, []string{"* runs on q-1", "one", "two", "* goes on, but Slurm does not answer; still asking",
			"* is seen again: Slurm answers", "* completed"}},
		"short_silence": {play{acts: []act{
			{job: job7("RUNNING", "", "q-1", 0), output: "one\n"},
			{after: time.Second, err: slurm.ErrUnreachable},
			{after: 3 * time.Second, job: job7("COMPLETED", "", "q-1", 0)},
		}}, []string{"* runs on q-1", "one", "* completed"}},
		"no_output": {play{acts: []act{
			{job: job7("RUNNING", "", "q-1", 0)},
			{after: time.Second, job: job7("COMPLETED", "", "q-1", 0)},
		}}, []string{"* runs on q-1", "* left no output here: there is no file OUT (is its folder a node's own?)", "* completed"}},
		"forgotten_by_slurmctld": {play{
			acts: []act{{err: slurm.ErrNoJob}},
			runs: []slurm.Run{{ID: 7, Label: "7", State: "NODE_FAIL"}, {ID: 7, Label: "7", State: "TIMEOUT", Submit: time.Unix(1, 0)}},
		}, []string{"* ran into its time limit"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.play.shows(t, c.want) })
		})
	}
}

// shows follows job 7, and holds what its user sees.
func (p *play) shows(t *testing.T, want []string) {
	got, _, _, err := p.follow(t, t.Context())
	if err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(got, p.out, "OUT"), "\n"), "\n")
	if diff := cmp.Diff(said(want), said(lines)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(written(want), written(lines)); diff != "" {
		t.Error(diff)
	}
	if last := len(lines) - 1; lines[last] != want[len(want)-1] {
		t.Errorf("the last line is %q", lines[last])
	}
}

// said are the lines on the job, written those that it wrote. How the two mix
// is chance, but for the end.
func said(lines []string) []string    { return only(lines, true) }
func written(lines []string) []string { return only(lines, false) }

func only(lines []string, on bool) (some []string) {
	for _, line := range lines {
		if strings.HasPrefix(line, "* ") == on {
			some = append(some, line)
		}
	}
	return some
}

// TestFollowAsksLessOften: a job that has run for long is looked at every two
// seconds, one that just began five times a second.
func TestFollowAsksLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &play{acts: []act{{job: job7("RUNNING", "", "q-1", 0)}, {after: time.Hour, job: job7("COMPLETED", "", "q-1", 0)}}}
		_, took, _, err := p.follow(t, t.Context())
		if err != nil || took > time.Hour+2*time.Second {
			t.Errorf("took %s, %v", took, err)
		}
	})
}

func TestFollowEnds(t *testing.T) {
	gone := errors.New("the user went away")
	cases := map[string]struct {
		play   play
		cancel time.Duration
		want   error
		within time.Duration
	}{
		"stopped":     {play{acts: []act{{job: job7("RUNNING", "", "q-1", 0)}}}, time.Minute, gone, time.Minute},
		"no_such_job": {play{acts: []act{{err: slurm.ErrNoJob}}}, 0, slurm.ErrNoJob, time.Second},
		"slurm_gone":  {play{acts: []act{{err: slurm.ErrUnreachable}}}, 0, slurm.ErrUnreachable, 11 * time.Minute},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				if c.cancel > 0 {
					stop := time.AfterFunc(c.cancel, func() { cancel(gone) })
					defer stop.Stop()
				}
				_, took, _, err := c.play.follow(t, ctx)
				cancel(nil)
				if !errors.Is(err, c.want) || took > c.within {
					t.Errorf("got %v after %s, want %v within %s", err, took, c.want, c.within)
				}
			})
		})
	}
}

// full is a reader's end that takes no more.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestFollowFailsIfNobodyTakesTheOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &play{t: t, start: time.Now(), out: filepath.Join(t.TempDir(), "out"),
			acts: []act{{job: job7("RUNNING", "", "q-1", 0), output: "one\n"}}}
		f := job.Follower{Slurm: p, Out: full{}, Say: func(string) {}}
		if _, err := f.Follow(t.Context(), 7); !errors.Is(err, errFull) {
			t.Errorf("got %v", err)
		}
	})
}

func TestLookTellsWhichNodesStart(t *testing.T) {
	p := &play{t: t, acts: []act{{job: job7("CONFIGURING", "", "q-[1-3]", 0)}}, nodes: []slurm.Node{
		{Name: "q-1", State: slurm.ParseNodeState("ALLOCATED")},
		{Name: "q-2", State: slurm.ParseNodeState("ALLOCATED+CLOUD+POWERING_UP")},
		{Name: "q-3", State: slurm.ParseNodeState("ALLOCATED+CLOUD+NOT_RESPONDING")},
		{Name: "q-4", State: slurm.ParseNodeState("IDLE+CLOUD+POWERED_DOWN")},
	}}
	v, err := job.Look(t.Context(), p, 7, job.View{})
	if err != nil || v.Starting != "q-[2-3]" {
		t.Errorf("got %q, %v", v.Starting, err)
	}
}

// A job that is looked at for the first time while Slurm takes it from its nodes: what
// became of its run stands in the history.
func TestLook_tells_why_a_job_will_be_queued_again(t *testing.T) {
	p := &play{
		t:    t,
		acts: []act{{job: slurm.Job{State: "COMPLETING", Again: true, Restarts: 1, NodeList: "q-1", StartTime: noon.Add(time.Hour)}}},
		nodes: []slurm.Node{
			{Name: "q-1", State: slurm.ParseNodeState("IDLE+COMPLETING")},
			{Name: "q-2", State: slurm.ParseNodeState("DOWN"), Reason: "muster: the instance ended", ReasonTime: noon.Add(time.Minute)},
		},
		runs: []slurm.Run{{ID: 7, State: "NODE_FAIL", Start: noon, NodeList: "q-[1-2]"}},
	}
	v, err := job.Look(t.Context(), p, 7, job.View{})
	if want := []job.Lost{{Node: "q-2", Reason: "the instance ended"}}; err != nil || !slices.Equal(v.Lost, want) {
		t.Errorf("got %v, %v", v.Lost, err)
	}
	p.runs[0].State = "REQUEUED"
	if v, err := job.Look(t.Context(), p, 7, job.View{}); err != nil || v.Lost != nil || v.Before != "REQUEUED" {
		t.Errorf("by hand: %+v, %v", v, err)
	}
}

func TestRows(t *testing.T) {
	queue := []slurm.Job{
		{ID: 5, Name: "five", State: "RUNNING", NodeList: "q-1", StartTime: noon.Add(-time.Minute)},
		{ID: 6, Name: "six", State: "PENDING", Reason: "Resources", StartTime: noon.Add(time.Hour)},
		{ID: 8, Name: "eight", State: "COMPLETING", Again: true, Restarts: 1, NodeList: "q-3", StartTime: noon.Add(-time.Second)},
		{ID: 13, ArrayJobID: 13, ArrayTask: "1-4%2", Name: "wait", State: "PENDING", Reason: "Resources"},
		{ID: 14, ArrayJobID: 13, ArrayTask: "0", Name: "begun", State: "RUNNING", NodeList: "q-4", StartTime: noon},
		{ID: 4, ArrayJobID: 3, ArrayTask: "1", Name: "four", State: "FAILED", ExitCode: slurm.ExitCode{Code: 2}, StartTime: noon.Add(-time.Hour), EndTime: noon.Add(-30 * time.Minute)},
	}
	history := []slurm.Run{
		{ID: 5, Label: "5", State: "RUNNING"},
		{ID: 9, Label: "9_10", Name: "last", State: "COMPLETED", Start: noon, End: noon},
		{ID: 10, Label: "9_2", Name: "second", State: "COMPLETED", Start: noon, End: noon},
		{ID: 12, Label: "12", Name: "later", State: "COMPLETED", Start: noon, End: noon},
		{ID: 2, Label: "2", Name: "two", State: "NODE_FAIL", Start: noon.Add(-2 * time.Hour), Submit: noon.Add(-3 * time.Hour)},
		{ID: 1, Label: "1", Name: "one", State: "CANCELLED", CancelledBy: "0"},
		{ID: 8, Label: "8", Name: "eight", State: "NODE_FAIL", Start: noon.Add(-time.Hour)},
		{ID: 2, Label: "2", Name: "two", State: "COMPLETED", NodeList: "q-2", Submit: noon.Add(-2 * time.Hour), Start: noon.Add(-time.Hour), End: noon},
	}
	var got []string
	for _, r := range job.Rows(queue, history, noon) {
		got = append(got, strings.Join([]string{r.Label, r.Name, r.State, job.Span(r.Elapsed), r.NodeList, r.Why, strings.Repeat("I", r.Attempts)}, "|"))
	}
	want := []string{
		"1|one|CANCELLED|0:00||was cancelled by user 0|I",
		"2|two|COMPLETED|1:00:00|q-2||II",
		"3_1|four|FAILED|30:00||failed with exit code 2|I",
		"5|five|RUNNING|1:00|q-1||I",
		"6|six|PENDING|0:00||waits for free nodes|",
		"8|eight|COMPLETING|0:00|q-3|will be queued again because a node failed; Slurm cleans up|I",
		"9_2|second|COMPLETED|0:00|||I",
		"9_10|last|COMPLETED|0:00|||I",
		"12|later|COMPLETED|0:00|||I",
		"13_0|begun|RUNNING|0:00|q-4||I",
		"13_[1-4%2]|wait|PENDING|0:00||waits for free nodes|",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if rows := job.Rows(nil, nil, noon); rows == nil || !slices.Equal(rows, []job.Row{}) {
		t.Errorf("no jobs are %v", rows)
	}
}

func TestAttempts(t *testing.T) {
	first := slurm.Run{ID: 7, State: "NODE_FAIL", Start: noon.Add(-time.Hour), End: noon.Add(-time.Minute), Submit: noon.Add(-2 * time.Hour)}
	second := slurm.Run{ID: 7, State: "RUNNING", Start: noon, Submit: noon.Add(-time.Minute)}
	done := slurm.Run{ID: 7, State: "COMPLETED", Start: noon, End: noon.Add(time.Hour), Submit: noon.Add(-time.Minute)}
	waits := slurm.Run{ID: 7, State: "PENDING", Submit: noon.Add(-time.Minute)}
	run := slurm.Job{ID: 7, State: "RUNNING", StartTime: noon, Restarts: 1}
	end := slurm.Job{ID: 7, State: "COMPLETED", StartTime: noon, EndTime: noon.Add(time.Hour), Restarts: 1}
	cases := map[string]struct {
		history []slurm.Run
		job     slurm.Job
		want    []string
	}{
		"history_knows_all":       {[]slurm.Run{first, done}, end, []string{"NODE_FAIL", "COMPLETED"}},
		"history_behind_at_end":   {[]slurm.Run{first, second}, end, []string{"NODE_FAIL", "COMPLETED"}},
		"history_behind_at_start": {[]slurm.Run{first, waits}, run, []string{"NODE_FAIL", "RUNNING"}},
		"no_history":              {nil, run, []string{"RUNNING"}},
		"waits_again":             {[]slurm.Run{first, waits}, slurm.Job{ID: 7, State: "PENDING", StartTime: noon}, []string{"NODE_FAIL"}},
		"leaves_a_lost_node":      {[]slurm.Run{first}, slurm.Job{ID: 7, State: "COMPLETING", Again: true, StartTime: noon, Restarts: 1}, []string{"NODE_FAIL"}},
		"never_had_a_node":        {[]slurm.Run{{ID: 7, State: "FAILED", Start: noon, End: noon}}, slurm.Job{ID: 7, State: "FAILED", StartTime: noon, EndTime: noon, ExitCode: slurm.ExitCode{Code: 1}}, nil},
		"another_job":             {[]slurm.Run{{ID: 8, State: "FAILED", Start: noon}}, run, []string{"RUNNING"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range job.Attempts(c.history, c.job) {
				got = append(got, r.State)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAttempts_keeps_the_exit_code holds that a run shows the exit code that slurmctld knows: sacct takes 128 off.
func TestAttempts_keeps_the_exit_code(t *testing.T) {
	code := func(code, signal int) slurm.ExitCode { return slurm.ExitCode{Code: code, Signal: signal} }
	for name, row := range map[string]struct{ history, job, want slurm.ExitCode }{
		"killed":          {code(9, 0), code(137, 0), code(137, 0)},
		"the_same":        {code(9, 0), code(9, 0), code(9, 0)},
		"another":         {code(1, 0), code(137, 0), code(1, 0)},
		"another_signal":  {code(9, 9), code(137, 0), code(9, 9)},
		"ended_by_signal": {code(0, 15), code(0, 15), code(0, 15)},
	} {
		t.Run(name, func(t *testing.T) {
			history := []slurm.Run{{ID: 7, State: "FAILED", Start: noon, End: noon.Add(time.Minute), NodeList: "q-1", ExitCode: row.history}}
			ended := slurm.Job{ID: 7, State: "FAILED", StartTime: noon, EndTime: noon.Add(time.Minute), NodeList: "q-1", ExitCode: row.job}
			if got := job.Attempts(history, ended)[0].ExitCode; got != row.want {
				t.Errorf("the run has exit code %s, want %s", got, row.want)
			}
		})
	}
}

// TestAttempts_keeps_the_nodes holds that a job which has just ended shows all its
// nodes, not only those that still clean up.
func TestAttempts_keeps_the_nodes(t *testing.T) {
	history := []slurm.Run{{ID: 7, State: "RUNNING", Start: noon, NodeList: "q-[1-2]"}}
	ended := slurm.Job{ID: 7, State: "COMPLETED", StartTime: noon, EndTime: noon.Add(time.Second), NodeList: "q-1"}
	if got := job.Attempts(history, ended)[0].NodeList; got != "q-[1-2]" {
		t.Errorf("the run was on %s", got)
	}
	if got := job.Rows([]slurm.Job{ended}, history, noon)[0].NodeList; got != "q-[1-2]" {
		t.Errorf("the row has %s", got)
	}
	whole := ended
	whole.NodeList, history[0].State, history[0].NodeList = "q-[1-2]", "COMPLETED", "q-2"
	if got := job.Attempts(history, whole)[0].NodeList; got != "q-[1-2]" {
		t.Errorf("where the history has lost a node, the run was on %s", got)
	}
	again := slurm.Job{ID: 7, State: "RUNNING", StartTime: noon.Add(time.Minute), NodeList: "q-3"}
	if got := job.Rows([]slurm.Job{again}, history, noon)[0].NodeList; got != "q-3" {
		t.Errorf("the next run's row has %s", got)
	}
}
