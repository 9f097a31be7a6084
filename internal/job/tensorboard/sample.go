package tensorboard

import "github.com/muster-hpc/muster/internal/job/trainlog"

// Scalars are what a sample of a training's log is on TensorBoard: a curve for each number.
func Scalars(s trainlog.Sample) []Scalar {
	loss := "train/loss"
	if s.Eval {
		loss = "eval/loss"
	}
	var all []Scalar
	for _, v := range [...]struct {
		tag   string
		value trainlog.Value
	}{
		{loss, s.Loss},
		{"train/learning_rate", s.LearningRate},
		{"train/grad_norm", s.GradNorm},
		{"train/epoch", s.Epoch},
		{"speed/samples_per_second", s.SamplesPerSecond},
		{"speed/tokens_per_second", s.TokensPerSecond},
		{"speed/tokens_per_second_per_gpu", s.TokensPerSecondPerGPU},
		{"speed/tflops_per_gpu", s.TFLOPsPerGPU},
		{"speed/mfu", s.MFU},
		{"speed/step_seconds", s.StepSeconds},
	} {
		if v.value.Known {
			all = append(all, Scalar{v.tag, v.value.Float})
		}
	}
	return all
}
