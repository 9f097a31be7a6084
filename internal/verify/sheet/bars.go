package sheet

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/verify"
)

// bars are numbers of one unit beside what they should be.
type bars struct {
	ID, Title string
	Height    int
	Bars      []bar
	Note      string
}

type bar struct {
	Text, Number    string
	Verdict         badge
	Y, TextY, Width float64
	Expected        float64 // its place, 0 for none
	Source          string
}

// Bars are on a field that begins and ends there, so high each; there are at most so many of a unit.
const (
	barLeft, barRight = 170, 560
	barHeight         = 26
	mostBars          = 30
)

// barsOf are the numbers of a suite that are no times, those of a unit together.
func barsOf(s verify.Suite, id string) (all []bars) {
	byUnit := map[string][]verify.Result{}
	var units []string
	for _, x := range s.Results {
		if x.Value == nil || !finite(x.Value.Number) || x.Value.Number < 0 || x.Value.Lower {
			continue
		}
		if len(byUnit[x.Value.Unit]) == 0 {
			units = append(units, x.Value.Unit)
		}
		byUnit[x.Value.Unit] = append(byUnit[x.Value.Unit], x)
	}
	for i, unit := range units[:min(len(units), 8)] {
		all = append(all, barsIn(byUnit[unit], fmt.Sprintf("%s-bars-%d", id, i)))
	}
	return all
}

func barsIn(results []verify.Result, id string) bars {
	b := bars{ID: id, Title: line(results[0].Value.Unit)}
	shown := results[:min(len(results), mostBars)]
	if more := len(results) - len(shown); more > 0 {
		b.Note = fmt.Sprintf("%d more are in the table.", more)
	}
	most := 0.0
	for _, x := range shown {
		most = max(most, x.Value.Number)
		if finite(x.Value.Expected) {
			most = max(most, x.Value.Expected)
		}
	}
	if most == 0 {
		most = 1
	}
	scale := func(n float64) float64 { return round(n / most * (barRight - barLeft)) }
	for i, x := range shown {
		one := bar{Text: line(x.On + " " + x.Check), Number: figures(x.Value.Number), Verdict: badgeOf(x.Verdict), Y: float64(4 + i*barHeight), TextY: float64(4 + i*barHeight + 13), Width: scale(x.Value.Number)}
		if x.Value.Expected > 0 && finite(x.Value.Expected) {
			one.Expected = barLeft + scale(x.Value.Expected)
			one.Number += " of " + figures(x.Value.Expected)
		}
		b.Bars = append(b.Bars, one)
	}
	b.Height = len(shown)*barHeight + 8
	return b
}
