package keeper

import "github.com/muster-hpc/muster/internal/controller/client"

// samplesKept is how many samples a record has at most.
const samplesKept = 500

// sample keeps a sample. When there are too many, every second one goes, and from then on as
// many fewer stay: the whole course remains, and the last sample always.
func (r *record) sample(s client.JobSample) {
	r.dirty = true
	r.Stride = max(r.Stride, 1)
	if n := len(r.Samples); n > 0 && r.Skipped > 0 {
		if last := r.Samples[n-1]; last.Step != s.Step {
			r.Samples = r.Samples[:n-1] // it was there only as the last one
		}
	}
	r.Samples = merged(r.Samples, s)
	if r.Skipped++; r.Skipped >= r.Stride {
		r.Skipped = 0
	}
	if len(r.Samples) <= samplesKept {
		return
	}
	thin := r.Samples[:0]
	for i, old := range r.Samples {
		if i%2 == 0 || i == len(r.Samples)-1 {
			thin = append(thin, old)
		}
	}
	r.Samples, r.Stride = thin, 2*r.Stride
}

// merged adds a sample. Some programs say in several lines what there is of one step.
func merged(all []client.JobSample, s client.JobSample) []client.JobSample {
	n := len(all)
	if n == 0 || all[n-1].Step != s.Step || all[n-1].Eval != s.Eval || s.Step < 0 {
		return append(all, s)
	}
	last := &all[n-1]
	for _, v := range []struct{ to, from **float64 }{
		{&last.Loss, &s.Loss}, {&last.LearningRate, &s.LearningRate}, {&last.SamplesPerSecond, &s.SamplesPerSecond},
		{&last.TokensPerSecond, &s.TokensPerSecond}, {&last.TokensPerSecondPerGPU, &s.TokensPerSecondPerGPU},
		{&last.TFLOPs, &s.TFLOPs}, {&last.StepSeconds, &s.StepSeconds}, {&last.GradNorm, &s.GradNorm},
		{&last.Epoch, &s.Epoch},
	} {
		if *v.from != nil {
			*v.to = *v.from
		}
	}
	last.Steps, last.EpochSteps = max(last.Steps, s.Steps), max(last.EpochSteps, s.EpochSteps)
	return all
}
