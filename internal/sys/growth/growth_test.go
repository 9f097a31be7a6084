package growth

import (
	"slices"
	"testing"
	"time"
)

func TestSteep(t *testing.T) {
	for name, row := range map[string]struct {
		whole, small time.Duration
		want         bool
	}{
		"in_proportion":      {8 * time.Second, time.Second, false},
		"by_a_logarithm":     {11 * time.Second, time.Second, false},
		"measured_badly":     {30 * time.Second, time.Second, false},
		"with_the_square":    {64 * time.Second, time.Second, true},
		"a_thousand_times":   {time.Hour, time.Second, true},
		"slow_in_proportion": {8 * time.Hour, time.Hour, false},
	} {
		if got := steep(row.whole, row.small); got != row.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestLinear does the whole input once, and a part of it only if the whole took long.
func TestLinear(t *testing.T) {
	for name, row := range map[string]struct {
		burns func(n int) time.Duration
		sizes []int
		fails bool
	}{
		"nothing_to_measure": {func(int) time.Duration { return 0 }, []int{80}, false},
		"in_proportion":      {func(n int) time.Duration { return noticed * time.Duration(n) / 70 }, []int{80, 10}, false},
		"with_the_square":    {func(n int) time.Duration { return noticed * time.Duration(n*n) / 6000 }, []int{80, 10}, true},
	} {
		t.Run(name, func(t *testing.T) {
			judge, sizes := &listener{TB: t}, []int(nil)
			Linear(judge, 80, func(n int) {
				sizes = append(sizes, n)
				for begun := Busy(t); Busy(t)-begun < row.burns(n); {
				}
			})
			if !slices.Equal(sizes, row.sizes) || judge.failed != row.fails {
				t.Errorf("sizes %v, failed: %t", sizes, judge.failed)
			}
		})
	}
}

// listener hears of failures.
type listener struct {
	testing.TB
	failed bool
}

func (l *listener) Errorf(string, ...any) { l.failed = true }
