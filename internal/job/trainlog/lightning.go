package trainlog

import (
	"bytes"
	"slices"
	"strings"
)

// bars is what is known of progress bars, and of lines that come between them.
type bars struct {
	total int64   // of the bar of Hugging Face's Trainer
	done  int64   // of the same, when it was seen last
	dicts bool    // lines of Trainer came
	held  *Sample // one of them, whose step the next bar says
	value string  // the last loss of an evaluation that stayed in a bar or line
	eval  Value   // the same, if nobody was told yet
	seen  Sample  // the last bar
	plain plain   // of a training's own tqdm
	told  Sample  // what of a bar was said last

	columns columns // of a table whose rows are labels
}

// evaluated remembers a loss of an evaluation, which is news when it changes.
func (b *bars) evaluated(text []byte, v Value) {
	if v.Known && string(text) != b.value {
		b.value, b.eval = string(text), v
	}
}

// lossKeys are what a training's loss is called in bars, the best first.
var lossKeys = []string{"reduced_train_loss", "train_loss_step", "train_loss", "train/loss", "training_loss", "loss", "Loss", "loss_step", "avg_loss", "train_loss_epoch"}

// lightning reads a bar of PyTorch Lightning's (lightning/pytorch/callbacks/progress/tqdm_progress.py) training, and of NeMo 1's.
func (b *bars) lightning(of bar, s *Sample) bool {
	epoch, ok := strings.CutPrefix(of.label, "Epoch ")
	number, n := whole([]byte(epoch))
	if !ok || n == 0 || n != len(epoch) {
		return false
	}
	s.Format, s.Epoch, s.StepSeconds = Lightning, Some(float64(number)), of.seconds
	s.Step = over(number, of.total, of.done)
	b.fields(of, s)
	return true
}

// fields reads what a bar says behind its speed.
func (b *bars) fields(of bar, s *Sample) {
	best := len(lossKeys)
	for fields := of.fields; len(fields) > 0; {
		var one []byte
		one, fields, _ = bytes.Cut(fields, []byte(", "))
		name, value, ok := bytes.Cut(bytes.TrimSpace(one), []byte("="))
		if !ok || len(name) > 60 {
			continue
		}
		v, n := numberAt(value, false)
		switch key := string(name); key {
		case "global_step":
			if v.Known && of.total == 0 && v.Float >= 0 && v.Float < 1e15 {
				s.Step = int64(v.Float)
			}
		case "lr", "learning_rate":
			s.LearningRate = v
		case "grad_norm":
			s.GradNorm = v
		case "train_step_timing in s":
			s.StepSeconds = v
		case "samples/sec":
			s.SamplesPerSecond = v
		case "val_loss", "val/loss":
			b.evaluated(value[:n], v)
		default:
			if i := slices.Index(lossKeys[:best], key); i >= 0 && v.Known {
				best, s.Loss = i, v
			} else if best == len(lossKeys) && v.Known && !s.Loss.Known && isLossName(name) {
				s.Loss = v // gpt_loss, avr_loss
			}
		}
	}
}
