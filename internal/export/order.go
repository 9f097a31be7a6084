package export

import "slices"

// arranged has the oldest files first, and each step of held right behind the last of those that it needs, or before all
// if it needs none. Of the held ones that failed before each comes after all others.
func arranged(puts, held []Step) []Step {
	slices.SortStableFunc(puts, inTurn)
	o := ordering{held: held, lacks: make([]int, len(held)), behind: map[string][]int{}, out: make([]Step, 0, len(puts)+len(held)), done: make([]bool, len(held))}
	for i, s := range held {
		o.lacks[i] = len(s.Needs)
		for _, key := range s.Needs {
			o.behind[key] = append(o.behind[key], i)
		}
	}
	for i := range slices.Backward(held) {
		o.follow(i)
	}
	for _, s := range puts {
		o.take(s)
	}
	for i := range held {
		o.takeHeld(i)
	}
	return o.out
}

// ordering is a plan's puts on their way into their order.
type ordering struct {
	held   []Step
	lacks  []int            // so many of what it needs are not in out
	behind map[string][]int // who needs a key
	done   []bool           // it is in out
	out    []Step
}

// take takes up a step, and what waited for it alone.
func (o *ordering) take(s Step) {
	o.out = append(o.out, s)
	for _, i := range slices.Backward(o.behind[s.Key]) {
		o.lacks[i]--
		o.follow(i)
	}
}

func (o *ordering) follow(i int) {
	if o.lacks[i] == 0 && !o.held[i].Again {
		o.takeHeld(i)
	}
}

func (o *ordering) takeHeld(i int) {
	if !o.done[i] {
		o.done[i] = true
		o.take(o.held[i])
	}
}
