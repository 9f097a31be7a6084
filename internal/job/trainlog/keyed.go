package trainlog

import "bytes"

// titan reads torchtitan's lines (torchtitan/components/metrics.py), whose numbers have commas between thousands:
//
//	step: 10  loss: 10.7069  grad_norm: 1.7299  memory: 30.99GiB(32.62%)  tps: 7,034  tflops: 407.35  mfu: 41.19%
//	validate step: 10  loss: 10.2  memory: 31.00GiB(32.6%)  tps: 9,000
func titan(line []byte, s *Sample) bool {
	at := bytes.Index(line, []byte("step: "))
	if at < 0 || at > 0 && line[at-1] != ' ' && line[at-1] != ']' {
		return false
	}
	rest := line[at+len("step: "):]
	step, n := whole(rest[spaces(rest):])
	rest = rest[spaces(rest)+n:]
	if n == 0 || !bytes.HasPrefix(rest[spaces(rest):], []byte("loss: ")) {
		return false
	}
	s.Format, s.Step, s.Eval = Torchtitan, step, bytes.HasSuffix(line[:at], []byte("validate "))
	s.Loss = valueOf(rest, "loss: ", true)
	s.GradNorm = valueOf(rest, " grad_norm: ", true)
	s.LearningRate = valueOf(rest, " lr: ", true)
	s.TokensPerSecondPerGPU = valueOf(rest, " tps: ", true)
	s.TFLOPsPerGPU = valueOf(rest, " tflops: ", true)
	s.MFU = valueOf(rest, " mfu: ", true).over(100)
	return s.Loss.Known
}

// deepSpeed reads the two lines that DeepSpeed writes for a step, deepspeed/runtime/engine.py and utils/timer.py. The
// speed of the whole job stands in the second, and the loss in neither:
//
//	[Rank 0] step=14000, skipped=25, lr=[0.001], mom=[0.9]
//	epoch=0/micro_step=14000/global_step=14000, RunningAvgSamplesPerSec=1412.76, CurrSamplesPerSec=1322.81, MemAllocated=0.0GB
func deepSpeed(line []byte, s *Sample) bool {
	s.Format = DeepSpeed
	if speed := bytes.Index(line, []byte("RunningAvgSamplesPerSec=")); speed >= 0 {
		s.SamplesPerSecond = valueOf(line[speed:], ", CurrSamplesPerSec=", false)
		if !s.SamplesPerSecond.Known {
			s.SamplesPerSecond = valueOf(line[speed:], "RunningAvgSamplesPerSec=", false)
		}
		s.Step = stepAfter(line[:speed], "global_step=")
		s.Epoch = valueOf(line[:speed], "epoch=", false)
		return s.SamplesPerSecond.Known
	}
	s.Step = stepAfter(line, " step=")
	if s.Step == NoStep && bytes.HasPrefix(line, []byte("step=")) {
		s.Step = stepAfter(line, "step=")
	}
	s.LearningRate = valueOf(line, "lr=[", false)
	return s.Step != NoStep && s.LearningRate.Known
}

// stepAfter is the step behind a key.
func stepAfter(line []byte, key string) int64 {
	_, rest, ok := bytes.Cut(line, []byte(key))
	if step, n := whole(rest); ok && n > 0 {
		return step
	}
	return NoStep
}
