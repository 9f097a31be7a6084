package trainlog

import "bytes"

// iteration reads lines of fields between vertical bars. Megatron-LM's training_log (megatron/training/training.py), with
// the names of version 26.5 and of those before, and of its forks:
//
//	[2025-11-28 18:48:17] iteration  50/ 5000 | consumed samples: 51200 | elapsed time per iteration (ms): 61674.3 | lm loss: 1.08E+01 |
//	validation loss at iteration 1000 | lm loss value: 2.72E+00 | lm loss PPL: 1.5E+01 |
//
// and NeMo 2's (nemo/lightning/pytorch/callbacks/progress_printer.py):
//
//	Training epoch 0, iteration 17/99 | lr: 2.699e-06 | global_step: 17 | reduced_train_loss: 11.03 | train_step_timing in s: 12.64
func (b *bars) iteration(line []byte, s *Sample) bool {
	at := bytes.Index(line, []byte("iteration "))
	if at < 0 {
		return false
	}
	head, fields, ok := bytes.Cut(line[at:], []byte("|"))
	if !ok {
		return false
	}
	before, head := line[:at], head[len("iteration "):]
	step, n := whole(head[spaces(head):])
	if n == 0 {
		return false
	}
	s.Format, s.Step = Megatron, step
	rest := head[spaces(head)+n:]
	if bytes.HasSuffix(before, []byte("loss at ")) {
		s.Eval = true
		eachField(fields, func(name, value []byte) {
			if (bytes.HasSuffix(name, []byte("loss value")) || string(name) == "loss") && !s.Loss.Known {
				s.Loss, _ = numberAt(value, false)
			}
		})
		return s.Loss.Known
	}
	if len(rest) == 0 || rest[0] != '/' {
		return false
	}
	s.Steps, _ = whole(rest[1+spaces(rest[1:]):])
	if _, epoch, ok := bytes.Cut(before, []byte("Training epoch ")); ok {
		return b.nemo(epoch, fields, s)
	}
	s.SamplesPerSecond = valueOf(before, "samples/sec: ", false) // GPT-NeoX
	return megatron(fields, s)
}

// eachField calls field for each "name: value" between bars.
func eachField(fields []byte, field func(name, value []byte)) {
	for len(fields) > 0 {
		var one []byte
		one, fields, _ = bytes.Cut(fields, []byte("|"))
		// A name may have a colon in brackets, no value has one that matters.
		name, value, ok := bytes.Cut(one, []byte(": "))
		if !ok {
			name, value, ok = lastWord(one)
		}
		if ok && len(name) < 80 {
			field(bytes.TrimSpace(name), value[spaces(value):])
		}
	}
}

// lastWord cuts off the last word: SwissArmyTransformer writes "learning rate 3.000E-04" without a colon.
func lastWord(one []byte) (before, word []byte, ok bool) {
	one = bytes.TrimSpace(one)
	at := bytes.LastIndexByte(one, ' ')
	if at < 0 || !isDigit(one[at+1]) {
		return nil, nil, false
	}
	return one[:at], one[at+1:], true
}

// megatron reads the fields of Megatron-LM.
func megatron(fields []byte, s *Sample) bool {
	var batch Value
	known := false
	eachField(fields, func(name, value []byte) {
		v, _ := numberAt(value, false)
		known = known || v.Known
		switch string(name) {
		case "elapsed time per iteration (ms)":
			s.StepSeconds = v.over(1000)
		case "learning rate":
			s.LearningRate = v
		case "global batch size":
			batch = v
		case "grad norm":
			s.GradNorm = v
		case "approx flops per GPU":
			s.TFLOPsPerGPU = v
		case "samples per second":
			s.SamplesPerSecond = v
		case "TFLOPs", "throughput per GPU (TFLOP/s/GPU)", "compute per GPU (TFLOP/s/GPU)":
			s.TFLOPsPerGPU = v
		case "Tokens per second per GPU (Tok/s/GPU)", "tokens per GPU (tokens/s/GPU)", "tokens/s/GPU inst/harmonic mean":
			s.TokensPerSecondPerGPU = v
		case "lm loss":
			s.Loss = v
		default:
			if !s.Loss.Known && (string(name) == "loss" || bytes.HasSuffix(name, []byte(" loss")) || bytes.HasSuffix(name, []byte("_loss"))) { // GPT-NeoX: lm_loss
				s.Loss = v
			}
		}
	})
	if !s.SamplesPerSecond.Known && batch.Known && s.StepSeconds.Float > 0 {
		s.SamplesPerSecond = batch.over(s.StepSeconds.Float)
	}
	return known
}

// nemo reads the fields of NeMo 2, whose loss of an evaluation stays in its lines until the next one.
func (b *bars) nemo(epoch, fields []byte, s *Sample) bool {
	s.Format = NeMo
	s.Epoch, _ = numberAt(epoch, false)
	var batch Value
	eachField(fields, func(name, value []byte) {
		v, n := numberAt(value, false)
		switch string(name) {
		case "lr":
			s.LearningRate = v
		case "global_step":
			if v.Known && v.Float >= 0 && v.Float < 1e15 {
				s.Step, s.Steps = int64(v.Float), 0
			}
		case "global_batch_size":
			batch = v
		case "reduced_train_loss", "loss":
			s.Loss = v
		case "train_step_timing in s":
			s.StepSeconds = v
		case "val_loss":
			b.evaluated(value[:n], v)
		}
	})
	if batch.Known && s.StepSeconds.Float > 0 {
		s.SamplesPerSecond = batch.over(s.StepSeconds.Float)
	}
	return s.Loss.Known || s.StepSeconds.Known
}
