package export

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// oneByOne is the order that one gets by putting each step right behind the last of those that it needs, one after the
// other.
func oneByOne(puts, held []Step) []Step {
	slices.SortStableFunc(puts, inTurn)
	for _, s := range held {
		at := 0
		for i, put := range puts {
			if s.Again || slices.Contains(s.Needs, put.Key) {
				at = i + 1
			}
		}
		puts = slices.Insert(puts, at, s)
	}
	return puts
}

func TestArranged(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		var puts, held, all []Step
		for i := range r.IntN(7) {
			puts = append(puts, Step{Key: fmt.Sprint("file ", i), File: File{ModTime: stamp(r.IntN(5))}, Again: r.IntN(4) == 0})
		}
		all = slices.Clone(puts)
		for i := range r.IntN(6) {
			s := Step{Key: fmt.Sprint("held ", i), Again: r.IntN(6) == 0}
			for _, other := range all {
				if r.IntN(3) == 0 {
					s.Needs = append(s.Needs, other.Key)
				}
			}
			held, all = append(held, s), append(all, s)
		}
		want, got := oneByOne(slices.Clone(puts), held), arranged(puts, held)
		if !slices.EqualFunc(want, got, func(a, b Step) bool { return a.Key == b.Key }) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	}
}
