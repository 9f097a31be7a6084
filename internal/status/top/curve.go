package top

import (
	"math"
	"strings"
)

// levels are signs of growing height.
func (s Screen) levels() []string {
	if s.Unicode {
		return []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
	}
	return []string{"_", ".", "-", "=", "+", "*", "%", "#"}
}

// sparkline is a curve in one line of at most so many signs.
func (s Screen) sparkline(all []float64, width int) string {
	all = gathered(all, width)
	low, high := bounds(all)
	levels := s.levels()
	var b strings.Builder
	for _, v := range all {
		at := len(levels) / 2
		if high > low {
			at = min(len(levels)-1, int(share(v, low, high)*float64(len(levels))))
		}
		b.WriteString(levels[at])
	}
	return b.String()
}

// chart is a curve in so many lines, from the top, each as wide as asked.
func (s Screen) chart(all []float64, width, height int) []string {
	all = gathered(all, width)
	if len(all) == 0 || width < 1 || height < 1 {
		return nil
	}
	low, high := bounds(all)
	levels := s.levels()
	rows := make([]strings.Builder, height)
	for x := range width {
		v := all[x*len(all)/width]
		filled := len(levels) * height / 2
		if high > low {
			filled = max(1, int(math.Round(share(v, low, high)*float64(len(levels)*height))))
		}
		for y := range rows {
			switch in := filled - (height-1-y)*len(levels); {
			case in >= len(levels):
				rows[y].WriteString(levels[len(levels)-1])
			case in > 0:
				rows[y].WriteString(levels[in-1])
			default:
				rows[y].WriteByte(' ')
			}
		}
	}
	text := make([]string, height)
	for y := range rows {
		text[y] = rows[y].String()
	}
	return text
}

// share is where a value lies between two others, 0 to 1. They may be as far apart as numbers get.
func share(v, low, high float64) float64 {
	if math.IsInf(high-low, 0) {
		v, low, high = v/2, low/2, high/2
	}
	return (v - low) / (high - low)
}

// gathered are at most n values: each the mean of those that follow each other.
func gathered(all []float64, n int) []float64 {
	if len(all) <= n || n < 1 {
		return all[:min(len(all), max(n, 0))]
	}
	few := make([]float64, n)
	for i := range few {
		from, to := i*len(all)/n, (i+1)*len(all)/n
		for _, v := range all[from:to] {
			few[i] += v / float64(to-from)
		}
	}
	return few
}

func bounds(all []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range all {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}
