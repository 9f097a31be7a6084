package client

import (
	"math"
	"strconv"
	"time"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// SampleOf is a line of progress as JSON can carry it.
func SampleOf(s trainlog.Sample, at time.Time) JobSample {
	return JobSample{
		At: at, Step: s.Step, Steps: s.Steps, Eval: s.Eval, Loss: number(s.Loss), LossNotFinite: notFinite(s.Loss), LearningRate: number(s.LearningRate),
		SamplesPerSecond: number(s.SamplesPerSecond), TokensPerSecond: number(s.TokensPerSecond), TFLOPs: number(s.TFLOPsPerGPU),
		TokensPerSecondPerGPU: number(s.TokensPerSecondPerGPU), StepSeconds: number(s.StepSeconds), GradNorm: number(s.GradNorm),
		Epoch: number(s.Epoch), EpochSteps: s.EpochSteps,
	}
}

// notFinite is a value that number leaves out, as a word; empty for others.
func notFinite(v trainlog.Value) string {
	if !v.Known || number(v) != nil {
		return ""
	}
	return strconv.FormatFloat(v.Float, 'g', -1, 64)
}

// number is a value that JSON can carry, nil for others.
func number(v trainlog.Value) *float64 {
	if !v.Known || math.IsNaN(v.Float) || math.IsInf(v.Float, 0) {
		return nil
	}
	return &v.Float
}
