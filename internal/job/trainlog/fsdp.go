package trainlog

import "bytes"

// fsdp reads the lines of AWS's FSDP example and of the guides that use it:
//
//	Batch 10 Loss: 7.10000, Speed: 1.20 samples/sec, lr: 0.000030
//	Epoch 2 Batch 3 Steps 1003 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1
//	Batch 10 Validation loss: 6.9
//
// It is https://github.com/aws-samples/awsome-distributed-training, 3.test_cases/pytorch/FSDP/src/train.py.
func fsdp(line []byte, s *Sample) bool {
	for at := 0; ; {
		n := bytes.Index(line[at:], []byte("Batch "))
		if n < 0 {
			return false
		}
		at += n + len("Batch ")
		found := *s
		if fsdpAt(line[at:], &found) {
			if e := bytes.LastIndex(line[:at], []byte("Epoch ")); e >= 0 {
				found.Epoch, _ = numberAt(line[e+len("Epoch "):], false)
			}
			*s = found
			return true
		}
	}
}

// fsdpAt reads from the number of the batch on.
func fsdpAt(rest []byte, s *Sample) bool {
	s.Format = FSDP
	batch, n := whole(rest)
	if n == 0 {
		return false
	}
	s.Batch, s.Step = batch, batch
	rest = rest[n:]
	if after, ok := bytes.CutPrefix(rest, []byte(" Validation loss: ")); ok {
		s.Eval = true
		s.Loss, _ = numberAt(after, false)
		return s.Loss.Known
	}
	if after, ok := bytes.CutPrefix(rest, []byte(" Steps ")); ok {
		step, n := whole(after)
		if n == 0 {
			return false
		}
		s.Step, rest = step, after[n:]
	}
	for _, part := range [...]struct {
		key   string
		value *Value
	}{{" Loss: ", &s.Loss}, {", Speed: ", &s.SamplesPerSecond}, {" samples/sec, lr: ", &s.LearningRate}} {
		after, ok := bytes.CutPrefix(rest, []byte(part.key))
		if !ok {
			return false
		}
		*part.value, n = numberAt(after, false)
		if n == 0 {
			return false
		}
		rest = after[n:]
	}
	return len(rest) == 0 || !isDigit(rest[0]) && rest[0] != '.'
}
