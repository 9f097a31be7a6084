package job

import (
	"slices"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// Progress is how far a training has come, from a line of its output:
//
//	Batch 10 Loss: 7.10000, Speed: 1.20 samples/sec, lr: 0.000030
//
// whatever stands before it. Loss and LR may be NaN or infinite, which is worth
// seeing.
type Progress struct {
	Batch int
	Loss  float64
	// Speed is in samples a second.
	Speed float64
	LR    float64
}

// ParseProgress reads one line of a training's output.
func ParseProgress(line []byte) (Progress, bool) {
	var r trainlog.Reader
	return lastProgress(append(r.Feed(line).Samples, r.End().Samples...))
}

// LastProgress finds the last line of progress in a piece of output, whoever wrote it, with what the lines before it say
// that it does not: some programs write the parts of one step in several lines. A last line without its end may not be
// whole and does not count.
func LastProgress(output []byte) (trainlog.Sample, bool) {
	const recent, parts = 4, 16 // some programs write a line for each value of a step
	var r trainlog.Reader
	all := slices.DeleteFunc(r.Feed(output).Samples, func(s trainlog.Sample) bool { return s.Eval })
	if len(all) == 0 {
		return trainlog.Sample{}, false
	}
	last := all[len(all)-1]
	for i, before := range slices.Backward(all[:len(all)-1]) {
		if back := len(all) - i; back > recent && (back > parts || before.Step != last.Step) {
			break
		}
		fill(&last, before)
	}
	return last, true
}

// fill has a line say what it does not, and one before it does.
func fill(last *trainlog.Sample, before trainlog.Sample) {
	for _, v := range []struct {
		to   *trainlog.Value
		from trainlog.Value
	}{
		{&last.Loss, before.Loss}, {&last.LearningRate, before.LearningRate}, {&last.GradNorm, before.GradNorm},
		{&last.SamplesPerSecond, before.SamplesPerSecond}, {&last.TokensPerSecond, before.TokensPerSecond},
		{&last.TokensPerSecondPerGPU, before.TokensPerSecondPerGPU}, {&last.TFLOPsPerGPU, before.TFLOPsPerGPU},
		{&last.StepSeconds, before.StepSeconds},
	} {
		if !v.to.Known {
			*v.to = v.from
		}
	}
	last.Steps = max(last.Steps, before.Steps)
	if !last.Epoch.Known && last.Step == before.Step {
		last.Epoch, last.EpochSteps = before.Epoch, before.EpochSteps
	}
}

func lastProgress(samples []trainlog.Sample) (Progress, bool) {
	for _, s := range slices.Backward(samples) {
		if s.Format == trainlog.FSDP && !s.Eval {
			return Progress{Batch: int(s.Batch), Loss: s.Loss.Float, Speed: s.SamplesPerSecond.Float, LR: s.LearningRate.Float}, true
		}
	}
	return Progress{}, false
}
