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

// LastProgress finds the last line of progress in a piece of output. A last
// line without its end may not be whole and does not count.
func LastProgress(output []byte) (Progress, bool) {
	var r trainlog.Reader
	return lastProgress(r.Feed(output).Samples)
}

func lastProgress(samples []trainlog.Sample) (Progress, bool) {
	for _, s := range slices.Backward(samples) {
		if s.Format == trainlog.FSDP && !s.Eval {
			return Progress{Batch: int(s.Batch), Loss: s.Loss.Float, Speed: s.SamplesPerSecond.Float, LR: s.LearningRate.Float}, true
		}
	}
	return Progress{}, false
}
