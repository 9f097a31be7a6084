package cli

import (
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

func TestFateOf(t *testing.T) {
	begin := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	round := func(start time.Time, class, action string) client.JobRound {
		return client.JobRound{Start: start, Class: class, Why: "failed", Action: action, Because: "so it is"}
	}
	kept := func(phase string, counted int, rounds ...client.JobRound) *client.JobReport {
		return &client.JobReport{Phase: phase, Counted: counted, Allowed: 10, Rounds: rounds}
	}
	cases := map[string]struct {
		kept *client.JobReport
		want job.Fate
		err  string
	}{
		"not_noticed":      {nil, job.Fate{}, "the head node has not noticed the job"},
		"seen_to_run":      {kept("training", 0), job.Fate{Open: true}, ""},
		"is_brought_back":  {kept("returning", 1, round(begin.Add(-time.Hour), "unknown", "here")), job.Fate{Open: true}, ""},
		"again":            {kept("waiting", 2, round(begin.Add(-time.Hour), "unknown", "here"), round(begin, "unknown", "here")), job.Fate{Again: true, Text: "failed; it is started again (restart 2 of 10)"}, ""},
		"elsewhere":        {kept("training", 1, round(begin, "node-lost", "elsewhere")), job.Fate{Again: true, Text: "failed; it is started again (restart 1 of 10)"}, ""},
		"made_room":        {kept("waiting", 1, round(begin, "preempted", "here")), job.Fate{Again: true, Text: "failed; it is started again"}, ""},
		"stopped":          {kept("ended", 0, round(begin, "import-error", "stop")), job.Fate{Text: "failed; it is not started again: so it is"}, ""},
		"nothing_to_do":    {kept("ended", 0, round(begin, "cancelled", "none")), job.Fate{}, ""},
		"left":             {kept("ended", 0), job.Fate{}, ""},
		"by_hand_meantime": {kept("ended", 0, round(begin.Add(-time.Hour), "unknown", "stop")), job.Fate{}, "the head node has not noticed the job's last run"},
	}
	for name, c := range cases {
		got, err := fateOf(c.kept, slurm.Job{ID: 7, State: "FAILED", StartTime: begin})
		if said := errText(err); got != c.want || said != c.err {
			t.Errorf("%s: got %+v, %q", name, got, said)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
