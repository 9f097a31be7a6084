package trainlog

import (
	"regexp"
	"sync"
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
var others = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)val|test|eval|predict|sanity|infer`) })

// epochs finds the epoch in a label, and how many there will be.
var epochs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)epoch\W{0,3}(\d{1,9})(?:\s?(?:/|of)\s?(\d{1,9}))?`)
})

// tqdm reads such a bar. What it says when its count has just moved is of the step that it counts; later it is drawn with the
// losses of steps that it has not counted yet.
func (b *bars) tqdm(of bar, s *Sample) bool {
	if others().MatchString(of.label) || of.total == 0 {
		return false
	}
	b.fields(of, s)
	if !s.Loss.Known {
		return false
	}
	p := &b.plain
	if of.total != p.total {
		*p = plain{total: of.total, done: -1}
	}
	moved, again := of.done != p.done || of.label != p.label, of.done < p.done
	number := epochs().FindStringSubmatch(of.label)
	if number == nil && again {
		p.epochs++
	}
	p.done, p.label = of.done, of.label
	if !moved || of.done == 0 {
		return false
	}
	s.Format, s.StepSeconds = Tqdm, of.seconds
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

// over counts on over epochs. Numbers that cannot be are left out.
func over(epochs, steps, more int64) int64 {
	if epochs > 1<<20 || steps > 1<<40 {
		return more
	}
	return epochs*steps + more
}
