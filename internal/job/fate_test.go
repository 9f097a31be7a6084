package job_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

// fateAct is what follows the end of a run, from a time on.
type fateAct struct {
	after time.Duration
	fate  job.Fate
	err   error
}

func (p *play) fate(context.Context, slurm.Job) (job.Fate, error) {
	for len(p.fates) > 1 && time.Since(p.start) >= p.fates[1].after {
		p.fates = p.fates[1:]
	}
	return p.fates[0].fate, p.fates[0].err
}

func failed7(restarts int) slurm.Job {
	j := job7("FAILED", "NonZeroExitCode", "q-1", restarts)
	j.ExitCode.Code = 1
	return j
}

// TestFollowFate: a job whose run has failed is followed until it is known that no other follows.
func TestFollowFate(t *testing.T) {
	open, away := job.Fate{Open: true}, errors.New("nobody answers")
	again := job.Fate{Again: true, Text: "failed; it is started again (restart 1 of 10)"}
	over := job.Fate{Text: "failed; it is not started again: it would end so again"}
	run, fails := act{job: job7("RUNNING", "", "q-1", 0), output: "one\n"}, act{after: time.Second, job: failed7(0)}
	held := act{after: 4 * time.Second, job: job7("PENDING", "JobHeldAdmin", "", 1)}
	runs := act{after: 8 * time.Second, job: job7("RUNNING", "", "q-1", 1), output: "two\n"}
	done := act{after: 20 * time.Second, job: job7("COMPLETED", "", "q-1", 1)}
	begins := []string{"* runs on q-1", "one", "* failed with exit code 1"}
	goes := []string{"* went back into the queue", "* runs on q-1, attempt 2", "two"}
	cases := map[string]struct {
		acts   []act
		fates  []fateAct
		want   [][]string
		within time.Duration
	}{
		"another_run":   {[]act{run, fails, held, runs, done}, []fateAct{{fate: open}, {after: 9 * time.Second, fate: again}}, [][]string{begins, {"* " + again.Text}, goes, {"* completed"}}, 23 * time.Second},
		"known_at_once": {[]act{run, fails, {after: 8 * time.Second, job: runs.job, output: runs.output}, done}, []fateAct{{fate: again}}, [][]string{begins, {"* " + again.Text}, goes, {"* completed"}}, 23 * time.Second},
		"fails_twice": {[]act{run, fails, runs, {after: 20 * time.Second, job: failed7(1)}}, []fateAct{{fate: again}, {after: 15 * time.Second, fate: over}},
			[][]string{begins, {"* " + again.Text}, goes, {"* failed with exit code 1", "* " + over.Text}}, 23 * time.Second},
		"no_other":  {[]act{run, fails}, []fateAct{{fate: open}, {after: time.Hour, fate: over}}, [][]string{begins, {"* " + over.Text}}, time.Hour + 3*time.Second},
		"not_kept":  {[]act{run, fails}, []fateAct{{}}, [][]string{begins}, 2 * time.Second},
		"no_answer": {[]act{run, fails}, []fateAct{{err: away}}, [][]string{begins, {"* may be started again, which is not known: nobody answers"}}, 35 * time.Second},
		"answers_late": {[]act{run, fails, held, runs, done}, []fateAct{{err: away}, {after: 9 * time.Second, fate: again}},
			[][]string{begins, {"* " + again.Text}, goes, {"* completed"}}, 23 * time.Second},
		"goes_on_untold": {[]act{run, fails, held, runs, {after: time.Minute, job: done.job}}, []fateAct{{fate: open}}, [][]string{begins, goes, {"* completed"}}, 63 * time.Second},
		"end_not_seen": {[]act{run, held, runs, done}, []fateAct{{fate: again}},
			[][]string{begins[:2], {"* " + again.Text}, goes[:1], {"* is held by an administrator"}, goes[1:], {"* completed"}}, 23 * time.Second},
		"end_not_seen_nor_kept": {[]act{run, held, runs, done}, []fateAct{{}}, [][]string{begins[:2], goes[:1], {"* is held by an administrator"}, goes[1:], {"* completed"}}, 23 * time.Second},
		"cancelled":             {[]act{run, {after: time.Second, job: job7("CANCELLED", "", "q-1", 0)}}, []fateAct{{fate: open}}, [][]string{begins[:2], {"* was cancelled"}}, 2 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var want []string
				for _, lines := range c.want {
					want = append(want, lines...)
				}
				p := &play{acts: c.acts, fates: c.fates}
				p.shows(t, want)
				if took := time.Since(p.start); took > c.within {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}
