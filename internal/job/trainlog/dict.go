package trainlog

import "bytes"

// dict reads a line of Hugging Face's Trainer (transformers/trainer_callback.py), which is a Python dictionary; its numbers
// stand in quotes since version 5:
//
//	{'loss': 1.266, 'grad_norm': 0.857, 'learning_rate': 8.69e-06, 'epoch': 0.07}
//	{'eval_loss': '1.19', 'eval_runtime': '3.1', 'eval_samples_per_second': '64.5', 'epoch': '0.5'}
//
// The last one, of the whole training, has its mean loss, which is none of this step.
func dict(line []byte, s *Sample) bool {
	open := bytes.Index(line, []byte("{'"))
	if open < 0 {
		return false
	}
	s.Format = HuggingFace
	rest := line[open+1:]
	known := false
	for {
		name, after, ok := dictKey(rest)
		if !ok {
			return known
		}
		after = bytes.TrimLeft(after, " '\"")
		v, n := numberAt(after, false)
		rest = after[n:]
		if name == "global_step/max_steps" && len(rest) > 0 { // ms-swift: '10/94'
			s.Steps, _ = whole(rest[1:])
			name = "global_step"
		}
		if comma := bytes.IndexByte(rest, ','); comma >= 0 {
			rest = rest[comma+1:]
		} else {
			rest = nil
		}
		if v.Known && s.setDict(name, v) {
			known = true
		}
	}
}

// dictKey reads "'loss':".
func dictKey(text []byte) (name string, after []byte, ok bool) {
	text = text[spaces(text):]
	if len(text) < 3 || text[0] != '\'' {
		return "", nil, false
	}
	end := bytes.IndexByte(text[1:], '\'') + 1
	if end <= 0 || end > 60 || end+1 >= len(text) || text[end+1] != ':' {
		return "", nil, false
	}
	return string(text[1:end]), text[end+2:], true
}

// setDict takes one entry, and tells whether it makes the line one of progress.
func (s *Sample) setDict(name string, v Value) bool {
	switch name {
	case "loss":
		s.Loss = v
	case "eval_loss":
		s.Loss, s.Eval = v, true
	case "train_samples_per_second":
		s.SamplesPerSecond = v
	case "grad_norm":
		s.GradNorm = v
		return false
	case "learning_rate":
		s.LearningRate = v
		return false
	case "epoch":
		s.Epoch = v
		return false
	case "step", "global_step", "iter", "iteration":
		if v.Float >= 0 && v.Float < 1e15 {
			s.Step = int64(v.Float)
		}
		return false
	default:
		return false
	}
	return true
}
