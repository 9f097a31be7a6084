package keeper

import (
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/slurm"
)

// A job whose submission was cut off before its secrets came is told of, once, and no other is.
func TestForsaken(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*slurm.Job)
		want   int
	}{
		"is_forsaken":     {func(*slurm.Job) {}, 1},
		"was_submitted":   {func(j *slurm.Job) { j.SubmitTime = time.Now() }, 0},
		"was_let_go_once": {func(j *slurm.Job) { j.EligibleTime = time.Now() }, 0},
		"has_no_secrets":  {func(j *slurm.Job) { j.Comment = "mine" }, 0},
		"waits_for_nodes": {func(j *slurm.Job) { j.Reason = "Resources" }, 0},
		"runs":            {func(j *slurm.Job) { j.State, j.Reason = "RUNNING", "" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			j := slurm.Job{ID: 9, Name: "llama", User: "eve", UID: 2, State: "PENDING", Reason: "JobHeldUser", Comment: client.AwaitsSecrets, SubmitTime: time.Now().Add(-time.Hour)}
			row.change(&j)
			w.others = []slurm.Job{j}
			k := w.rounds(3)
			if n, e := w.told("job waits"); n != row.want || n > 0 && e.Reason != "job 9 (llama) of eve waits, held, for secrets that did not arrive: who submitted it was cut off" {
				t.Errorf("told %d times: %+v", n, e)
			}
			w.others = nil
			if w.round(k); len(k.forsaken) > 0 {
				t.Error("a job that is gone is remembered")
			}
		})
	}
}
