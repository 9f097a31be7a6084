package trainlog

import (
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// plain is what is known of a bar that a training has made with tqdm itself, with a loss behind it:
//
//	 10%|█         | 4/40 [00:00<00:01, 32.64it/s, loss=0.5, lr=0.0001]
//	Epoch 1/2:  10%|█         | 4/40 [00:00<00:01, 31.01it/s, loss=0.5]
type plain struct {
	label       string
	done, total int64
	epochs      int64 // that went by, where the label does not say which this is
}

// others are labels of bars that are none of a training.
var others = pattern.New(`(?i)val|test|eval|predict|sanity|infer`)

// epochs finds the epoch in a label, and how many there will be.
var epochs = pattern.New(`(?i)epoch\W{0,3}(\d{1,9})(?:\s?(?:/|of)\s?(\d{1,9}))?`)

// tqdm reads such a bar. What it says when its count has just moved is of the step that it counts; later it is drawn with the
// losses of steps that it has not counted yet.
func (b *bars) tqdm(of bar, s *Sample) bool {
	if others().MatchString(of.label) || of.total == 0 {
		return false
	}
	if b.columns != 0 {
		if epoch, epochs, ok := b.columns.row(of.label, s); ok {
			return b.table(of, epoch, epochs, s)
		}
	}
	b.fields(of, s)
	labelled := !s.Loss.Known && lossIn(of.label, s)
	if !s.Loss.Known {
		return false
	}
	p := &b.plain
	if of.total != p.total {
		*p = plain{total: of.total, done: -1}
	}
	moved, again := of.done != p.done || of.label != p.label, of.done < p.done
	if labelled {
		moved = of.label != p.label // the label is drawn when the count has moved
	}
	number := epochs().FindStringSubmatch(of.label)
	if number == nil && again {
		p.epochs++
	}
	p.done, p.label = of.done, of.label
	if !moved || of.done == 0 {
		return false
	}
	s.Format, s.StepSeconds = Tqdm, of.seconds
	if p.epochs == 0 && (labelled || strings.HasPrefix(of.label, "Step") || strings.HasPrefix(of.label, "step")) && number == nil {
		s.Steps = of.total // unless it begins anew
	}
	epoch := p.epochs
	if number != nil {
		epoch, _ = whole([]byte(number[1]))
		s.Epoch = Some(float64(epoch))
		if number[2] != "" { // who says how many there are counts from 1
			many, _ := whole([]byte(number[2]))
			epoch, s.Steps = max(0, epoch-1), over(many, of.total, 0)
		}
	}
	s.Step = over(epoch, of.total, of.done)
	return true
}

// table reads the bar of one epoch whose label is a row of a table.
func (b *bars) table(of bar, epoch, epochs int64, s *Sample) bool {
	p := &b.plain
	moved := of.done != p.done || of.label != p.label
	p.done, p.label, p.total = of.done, of.label, of.total
	if !moved || of.done == 0 {
		return false
	}
	s.Format, s.StepSeconds, s.Epoch = Tqdm, of.seconds, Some(float64(epoch))
	s.Step, s.Steps = over(max(0, epoch-1), of.total, of.done), over(epochs, of.total, 0)
	return true
}

// over counts on over epochs. Numbers that cannot be are left out.
func over(epochs, steps, more int64) int64 {
	if epochs > 1<<20 || steps > 1<<40 {
		return more
	}
	return epochs*steps + more
}

// lossIn reads the loss in a bar's label, as torchtune ("1|40|Loss: 1.24") and Meta's llama-recipes write it.
func lossIn(label string, s *Sample) bool {
	if !strings.Contains(label, "oss") {
		return false
	}
	var f fields
	is := f.read([]byte(label))
	if is.loss < 0 || is.eval {
		return false
	}
	s.Loss = is.said.Loss
	return true
}
