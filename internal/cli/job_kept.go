package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
)

// addKept adds what the keeper knows of the job.
func (j *jobAnswer) addKept(ctx context.Context) {
	r, err := client.In(services.RunDir).Job(ctx, j.ID)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // without the socket's name
		}
		j.Blind = append(j.Blind, fmt.Sprintf("how the job is kept: %v", err))
		return
	}
	j.Kept = r
	j.tellEndings()
	j.goesOn()
}

// goesOn takes back that a job has ended whose run has, and which its keeper starts again or has not judged yet. Slurm calls it ended until
// it is in the queue again.
func (j *jobAnswer) goesOn() {
	if j.Kept == nil || !j.Ended || j.Completed || j.State == "CANCELLED" || j.Kept.Phase == "ended" || len(j.Attempts) == 0 {
		return
	}
	run := j.Attempts[len(j.Attempts)-1].Start.Unix()
	at := slices.IndexFunc(j.Kept.Rounds, func(r client.JobRound) bool { return r.Start.Unix() == run })
	switch {
	case at < 0:
		j.Text += "; what follows is not decided yet"
	case j.Kept.Rounds[at].Action == "elsewhere" || j.Kept.Rounds[at].Action == "here":
		j.Text += "; it starts again"
	default:
		return
	}
	j.Ended = false
}

// tellEndings says of runs that Slurm only knows to be queued again how they ended. Slurm and the keeper name a run by its start, in seconds.
func (j *jobAnswer) tellEndings() {
	if j.Kept == nil {
		return
	}
	for _, r := range j.Kept.Rounds {
		for i, a := range j.Attempts {
			if a.State == "REQUEUED" && r.Why != "" && a.Start.Unix() == r.Start.Unix() {
				j.Attempts[i].Text = r.Why + "; was put back into the queue"
			}
		}
	}
}

// keptRows are what there is to say of a kept job.
func (j jobAnswer) keptRows(row func(name, value string), now time.Time) {
	k := j.Kept
	if k == nil {
		return
	}
	row("phase", keptPhase(*k, now))
	if last, ok := lastSample(k.Samples); ok && j.before() {
		row("progress", "run before: "+sampleText(last))
	}
	row("restarts", fmt.Sprint(k.Restarts))
	if c := k.Checkpoint; c != nil {
		row("checkpoint", fmt.Sprintf("%s, %s old", page.Printable(c.Dir), count.Span(max(0, now.Sub(c.At)))))
	}
	if k.Curves != "" {
		row("curves", page.Printable(k.Curves))
	}
	for _, c := range k.Torn {
		row("torn", fmt.Sprintf("%s: %s", page.Printable(c.Dir), page.Printable(c.Torn)))
	}
	if !k.ExpectedEnd.IsZero() && !(slurm.Job{State: j.State}).Ended() {
		row("expected end", clock(k.ExpectedEnd, now))
	}
	for _, c := range movedAside(k.Rounds) {
		row("moved aside", fmt.Sprintf("%s, to %s: %s", page.Printable(c.Path), page.Printable(c.Now), page.Printable(c.Why)))
	}
	if n := len(k.Rounds); n > 0 {
		row("last ending", page.Printable(k.Rounds[n-1].Why))
		row("to do", page.Printable(k.Rounds[n-1].Hint))
		if last := k.Rounds[n-1]; last.Action == "stop" && last.Because != "" && k.Phase != "training" && k.Phase != "starting" {
			row("stopped, as", page.Printable(last.Because))
		}
	}
}

// before says that what is known of the job's progress is of a run before this one.
func (j jobAnswer) before() bool {
	return j.Kept != nil && j.Kept.Phase == "starting" && len(j.Kept.Samples) > 0
}

// movedAside are the checkpoints that were moved out of the way, the last ones of them.
func movedAside(rounds []client.JobRound) (all []client.JobAside) {
	const most = 5
	for _, r := range rounds {
		all = append(all, r.Aside...)
	}
	return all[max(0, len(all)-most):]
}

// keptPhase says what a training is at.
func keptPhase(k client.JobReport, now time.Time) string {
	switch k.Phase {
	case "starting":
		return "starts up: no line of progress yet"
	case "training":
		if k.Slow != nil {
			return fmt.Sprintf("silent since %s: %s", clock(k.Slow.Since, now), page.Printable(strings.Join(append([]string{k.Slow.Why}, k.Slow.Ranks...), "; ")))
		}
		if k.Rhythm.MedianSeconds > 0 {
			return fmt.Sprintf("trains, a line every %s", span(k.Rhythm.MedianSeconds))
		}
		return "trains"
	case "silent":
		return fmt.Sprintf("hangs since %s: %s", clock(k.Hang.Since, now), page.Printable(strings.Join(append([]string{k.Hang.Why}, k.Hang.Ranks...), "; ")))
	case "returning":
		return "is brought back"
	case "ended":
		return "has ended"
	}
	return "has not begun a run" // why it waits, its state says
}

// span is a number of seconds for people.
func span(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.3g s", seconds)
	}
	return job.Span(time.Duration(seconds * float64(time.Second)))
}

// lastSample is the last line that is none of an evaluation.
func lastSample(all []client.JobSample) (client.JobSample, bool) {
	for _, s := range slices.Backward(all) {
		if !s.Eval {
			return s, true
		}
	}
	return client.JobSample{}, false
}

// sampleText is a line of progress in words.
func sampleText(s client.JobSample) string {
	text := fmt.Sprintf("step %d", s.Step)
	if s.Step < 0 {
		text = "trains"
	}
	if s.Steps > 0 {
		text += fmt.Sprintf(" of %d", s.Steps)
	}
	if s.Steps == 0 && s.EpochSteps > 0 && s.Epoch != nil {
		text += fmt.Sprintf(" in epoch %g of %d steps", *s.Epoch, s.EpochSteps)
	}
	if s.LossNotFinite != "" {
		text += ", loss " + s.LossNotFinite
	}
	for _, v := range []struct {
		format string
		value  *float64
	}{
		{", loss %g", s.Loss}, {", %g samples/s", s.SamplesPerSecond}, {", %g tokens/s", s.TokensPerSecond},
		{", %g tokens/s of one GPU", s.TokensPerSecondPerGPU}, {", %g TFLOP/s of one GPU", s.TFLOPs}, {", %.3g s a step", s.StepSeconds},
		{", learning rate %g", s.LearningRate},
	} {
		if v.value != nil {
			text += fmt.Sprintf(v.format, *v.value)
		}
	}
	return text
}
