package verify

import (
	"math"
	"slices"
)

// alike is what changes of several places have in common.
type alike struct {
	suite, check, unit string
	from, to           Verdict
	found              string
}

// gather makes one entry of changes that differ in their place and number alone.
func gather(all []Change) []Change {
	groups := map[alike][]Change{}
	var order []alike
	for _, c := range all {
		k := alike{c.Suite, c.Check, c.Unit, c.From, c.To, ""}
		if c.Unit == "" {
			k.found = c.FoundA + "\x00" + c.FoundB
		}
		if len(groups[k]) == 0 {
			order = append(order, k)
		}
		groups[k] = append(groups[k], c)
	}
	gathered := make([]Change, 0, len(order))
	for _, k := range order {
		gathered = append(gathered, merge(groups[k]))
	}
	return gathered
}

// merge is one change for many: medians, and the part of the one that changed most.
func merge(all []Change) Change {
	sum := all[0]
	sum.On = []string{}
	var was, is []float64
	for _, c := range all {
		sum.On = append(sum.On, c.On...)
		if c.A != nil {
			was = append(was, *c.A)
		}
		if c.B != nil {
			is = append(is, *c.B)
		}
		if math.Abs(c.Part) > math.Abs(sum.Part) {
			sum.Part = c.Part
		}
	}
	sum.On = slices.Compact(sum.On)
	if len(was) > 0 {
		sum.A = finite(Median(was))
	}
	if len(is) > 0 {
		sum.B = finite(Median(is))
	}
	return sum
}
