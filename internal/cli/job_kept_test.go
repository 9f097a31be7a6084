package cli

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// TestAddKept says why it is not known how a job is kept, whatever the error is made of.
func TestAddKept(t *testing.T) {
	j := jobAnswer{ID: 1}
	j.addKept(t.Context())
	if len(j.Blind) != 1 || strings.Contains(j.Blind[0], "nil") || !strings.HasPrefix(j.Blind[0], "how the job is kept: ") || len(j.Blind[0]) < 30 {
		t.Errorf("%q", j.Blind)
	}
	for phase, want := range map[string]string{"waiting": "has not begun a run", "ended": "has ended", "training": "trains"} {
		if got := keptPhase(client.JobReport{Phase: phase}, time.Now()); got != want {
			t.Errorf("%s: got %q", phase, got)
		}
	}
}

// TestTellEndings says how a run ended that Slurm only knows to be queued again, and leaves what Slurm knows.
func TestTellEndings(t *testing.T) {
	start := func(s int64) time.Time { return time.Unix(1_000_000+s, 0) }
	j := jobAnswer{Kept: &client.JobReport{Rounds: []client.JobRound{
		{Start: start(1).Add(300 * time.Millisecond), Why: "hung: rank 1 on n1 is stopped"}, {Start: start(2), Why: "lost n2"}, {Start: start(3)},
	}}}
	for i, state := range []string{"REQUEUED", "NODE_FAIL", "REQUEUED", "REQUEUED"} {
		j.Attempts = append(j.Attempts, attempt{State: state, Text: "Slurm's", Start: start(int64(i + 1))})
	}
	j.tellEndings()
	for i, want := range []string{"hung: rank 1 on n1 is stopped; was put back into the queue", "Slurm's", "Slurm's", "Slurm's"} {
		if got := j.Attempts[i].Text; got != want {
			t.Errorf("run %d: %q, want %q", i+1, got, want)
		}
	}
}

// TestGoesOn has runs that have ended, of jobs that have not.
func TestGoesOn(t *testing.T) {
	start := time.Unix(1795880000, 0)
	round := func(at time.Time, action string) client.JobRound { return client.JobRound{Start: at, Action: action} }
	for _, tt := range []struct {
		name, state, phase string
		rounds             []client.JobRound
		ended              bool
		text               string
	}{
		{"not_judged", "FAILED", "training", nil, false, "failed; what follows is not decided yet"},
		{"starts_again", "NODE_FAIL", "waiting", []client.JobRound{round(start, "elsewhere")}, false, "failed; it starts again"},
		{"run_before", "FAILED", "waiting", []client.JobRound{round(start.Add(-time.Hour), "here")}, false, "failed; what follows is not decided yet"},
		{"stopped", "FAILED", "waiting", []client.JobRound{round(start, "stop")}, true, "failed"},
		{"nothing_to_do", "TIMEOUT", "training", []client.JobRound{round(start, "none")}, true, "failed"},
		{"over", "FAILED", "ended", nil, true, "failed"},
		{"completed", "COMPLETED", "training", nil, true, "failed"},
		{"cancelled", "CANCELLED", "training", nil, true, "failed"},
	} {
		j := jobAnswer{
			State: tt.state, Ended: true, Completed: tt.state == "COMPLETED", Text: "failed", Attempts: []attempt{{Start: start}},
			Kept: &client.JobReport{Phase: tt.phase, Rounds: tt.rounds},
		}
		if j.goesOn(); j.Ended != tt.ended || j.Text != tt.text {
			t.Errorf("%s: ended %v, %q", tt.name, j.Ended, j.Text)
		}
	}
}

// TestProgressOf says what a line says in the words of its program, and numbers that JSON does not have.
func TestProgressOf(t *testing.T) {
	fsdp := trainlog.Sample{Format: trainlog.FSDP, Step: 1003, Batch: 3, Loss: trainlog.Some(math.NaN()), SamplesPerSecond: trainlog.Some(2), LearningRate: trainlog.Some(0.1)}
	if p := progressOf(fsdp); p.text != "batch 3, loss NaN, 2 samples/s, learning rate 0.1" || p.Batch != 3 || *p.Step != 1003 || p.Loss != nil || p.LossNotFinite != "NaN" {
		t.Errorf("%+v", p)
	}
	titan := trainlog.Sample{Format: trainlog.Torchtitan, Step: 10, Loss: trainlog.Some(math.Inf(1)), TokensPerSecondPerGPU: trainlog.Some(7034)}
	if p := progressOf(titan); p.text != "step 10, loss +Inf, 7034 tokens/s of one GPU" || p.LossNotFinite != "+Inf" || p.Batch != 10 || *p.TokensPerSecondPerGPU != 7034 {
		t.Errorf("%+v", p)
	}
	if p := progressOf(trainlog.Sample{Format: trainlog.HuggingFace, Step: trainlog.NoStep, Loss: trainlog.Some(0.5)}); p.text != "trains, loss 0.5" || p.Step != nil {
		t.Errorf("%+v", p)
	}
}

// TestProgressOfTheRunBefore is told from the progress of a run that starts up.
func TestProgressOfTheRunBefore(t *testing.T) {
	number := func(f float64) *float64 { return &f }
	samples := []client.JobSample{
		{Step: 8}, {Step: 9, Steps: 20, Loss: number(2.5), TokensPerSecondPerGPU: number(7034), TFLOPs: number(407.35), StepSeconds: number(0.087)}, {Step: 9, Eval: true, Loss: number(3)},
	}
	for phase, want := range map[string]string{"starting": "phase: starts up: no line of progress yet, progress: run before: step 9 of 20, loss 2.5, 7034 tokens/s of one GPU, 407.35 TFLOP/s of one GPU, 0.087 s a step", "training": "progress: step 9 of 20, loss 2.5, 7034 tokens/s of one GPU, 407.35 TFLOP/s of one GPU, 0.087 s a step, phase: trains"} {
		j := jobAnswer{Progress: &progressShape{text: "batch 9"}, Kept: &client.JobReport{Phase: phase, Samples: samples}}
		var rows []string
		row := func(name, value string) {
			if value != "" && name != "restarts" {
				rows = append(rows, name+": "+value)
			}
		}
		row("progress", j.progressText())
		j.keptRows(row, time.Now())
		if got := strings.Join(rows, ", "); got != want {
			t.Errorf("%s: got %q", phase, got)
		}
	}
}
