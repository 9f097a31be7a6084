package sheet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
)

// heat is a heat map: how good each pair of nodes is beside the median of all.
type heat struct {
	ID, Title, Note string
	Nodes           string
	Size            float64
	Left, Top       float64
	Width, Height   float64
	Bed, Foot       float64 // the width of the field of cells, and where the names of columns begin
	Cells           []cell  // one by one, with what they are
	Paths           []path  // or those of a class together
	Crosses         string  // over those that are far off
	Rows, Columns   []tick
	Legend          []legend
	Slow            []slowNode
	Steady          string // what is said where no node is slow
}

type cell struct {
	X, Y  float64
	Class string
	Text  string
}

type path struct{ Class, Path string }

type legend struct{ Class, Text string }

type slowNode struct{ Node, Median, Part, Pairs string }

// The bounds of classes, as parts of the median, and from which class on a cell is crossed, so that it is seen without colours.
func bounds() []float64 { return []float64{0.95, 0.9, 0.8, 0.65, 0.5} }

const crossed = 3

// Up to so many nodes each cell says what it is; up to so many have a cell each, and more share blocks of them.
const (
	wordyNodes = 40
	mostCells  = 200
	mostSlow   = 20
)

// grid is what was measured between each two, NaN where nothing was; of a pair that was measured twice the worse.
type grid struct {
	n      int
	values []float64
	lower  bool
}

func gridOf(m verify.Matrix, n int) grid {
	g := grid{n: n, values: make([]float64, n*n), lower: m.Lower}
	for i := range g.values {
		g.values[i] = math.NaN()
	}
	block := (len(m.Nodes) + n - 1) / n
	for _, p := range m.Pairs {
		if min(p.A, p.B) < 0 || max(p.A, p.B) >= len(m.Nodes) || !finite(p.Value) || p.Value < 0 {
			continue
		}
		g.put(p.A/block, p.B/block, p.Value)
		g.put(p.B/block, p.A/block, p.Value)
	}
	return g
}

func (g grid) put(a, b int, v float64) {
	at := a*g.n + b
	if old := g.values[at]; math.IsNaN(old) || g.lower == (v > old) {
		g.values[at] = v
	}
}

// part is how good a value is beside the median: 1 as good, less is worse.
func (g grid) part(v, median float64) float64 {
	switch {
	case v == median:
		return 1
	case g.lower && v > 0:
		return median / v
	case !g.lower && median > 0:
		return v / median
	}
	return 1
}

// percent is a part in words; beside a median of next to nothing a value may be any part of it.
func percent(part float64) string {
	if part > 100 {
		return "more than 10000 %"
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

// heatOf draws a matrix.
func heatOf(m verify.Matrix, id string, o Options) heat {
	n := min(len(m.Nodes), mostCells)
	if len(m.Nodes) > mostCells {
		block := (len(m.Nodes) + mostCells/2 - 1) / (mostCells / 2)
		n = (len(m.Nodes) + block - 1) / block
	}
	h := heat{ID: id, Title: line(m.Name), Left: 90, Top: 8, Nodes: hosts(o, cleaned(m.Nodes)), Legend: legends()}
	if n == 0 {
		h.Note = "no nodes were measured"
		return h
	}
	g := gridOf(m, n)
	median := verify.Median(values(m))
	h.Size = round(max(3, min(26, 560/float64(n))))
	h.Width, h.Height = h.Left+h.Size*float64(n)+10, h.Top+h.Size*float64(n)+96
	h.Bed, h.Foot = round(h.Size*float64(n)), round(h.Height-88)
	h.Note = fmt.Sprintf("%s between %s, median %s %s.", count.Of(len(m.Pairs), "measurement"), count.Of(len(m.Nodes), "node"), figures(median), line(m.Unit))
	if n < len(m.Nodes) {
		h.Note += fmt.Sprintf(" A cell is the worst of a block of %d by %d nodes.", (len(m.Nodes)+n-1)/n, (len(m.Nodes)+n-1)/n)
	}
	h.draw(m, g, median)
	h.label(m, n)
	h.Slow, h.Steady = slowOf(m, g.lower, median), steady(m, g, median)
	return h
}

func values(m verify.Matrix) (all []float64) {
	for _, p := range m.Pairs {
		if finite(p.Value) && p.Value >= 0 {
			all = append(all, p.Value)
		}
	}
	return all
}

func legends() (all []legend) {
	for i, b := range bounds() {
		all = append(all, legend{fmt.Sprintf("h%d", i), fmt.Sprintf("at least %.0f %%", 100*b)})
	}
	return append(all, legend{fmt.Sprintf("h%d", len(bounds())), "less"})
}

func classOf(part float64) int {
	for i, b := range bounds() {
		if part >= b {
			return i
		}
	}
	return len(bounds())
}

// draw makes cells, or paths where there would be too many.
func (h *heat) draw(m verify.Matrix, g grid, median float64) {
	var paths [6]strings.Builder
	var crosses strings.Builder
	for at, v := range g.values {
		if math.IsNaN(v) {
			continue
		}
		part := g.part(v, median)
		class := classOf(part)
		x, y := round(h.Left+h.Size*float64(at%g.n)), round(h.Top+h.Size*float64(at/g.n))
		if class >= crossed && h.Size >= 5 {
			fmt.Fprintf(&crosses, "M%g %gl%g %g", round(x+h.Size/4), round(y+h.Size/4), round(h.Size/2), round(h.Size/2))
		}
		if g.n <= wordyNodes {
			text := fmt.Sprintf("%s and %s: %s %s, %s of the median", line(m.Nodes[at/g.n]), line(m.Nodes[at%g.n]), figures(v), line(m.Unit), percent(part))
			h.Cells = append(h.Cells, cell{x, y, fmt.Sprintf("h%d", class), text})
			continue
		}
		fmt.Fprintf(&paths[class], "M%g %gh%gv%gh-%gz", x, y, h.Size, h.Size, h.Size)
	}
	for class := range paths {
		if paths[class].Len() > 0 {
			h.Paths = append(h.Paths, path{fmt.Sprintf("h%d", class), paths[class].String()})
		}
	}
	h.Crosses = crosses.String()
}

// label names as many rows and columns as there is room for.
func (h *heat) label(m verify.Matrix, n int) {
	block := (len(m.Nodes) + n - 1) / n
	step := max(1, int(math.Ceil(11/h.Size)))
	for i := 0; i < n; i += step {
		name := short(line(m.Nodes[i*block]))
		middle := round(h.Size * (float64(i) + 0.5))
		h.Rows = append(h.Rows, tick{h.Top + middle, name})
		h.Columns = append(h.Columns, tick{h.Left + middle, name})
	}
}

// short is the end of a name, which tells nodes apart.
func short(name string) string {
	const most = 13
	if runes := []rune(name); len(runes) > most {
		return "…" + string(runes[len(runes)-most+1:])
	}
	return name
}

// steady says that no node is slow, and of which two a measurement is worse all the same: a cell shows the worst of its pair, and of a
// node the median of its own counts.
func steady(m verify.Matrix, g grid, median float64) string {
	const all = "The median of each node's measurements is at least nine tenths of the median of all."
	var worst verify.Pair
	least, below := 0.9, 0
	for _, p := range m.Pairs {
		if min(p.A, p.B) < 0 || max(p.A, p.B) >= len(m.Nodes) || !finite(p.Value) || p.Value < 0 {
			continue
		}
		part := g.part(p.Value, median)
		if part < 0.9 {
			below++
		}
		if part < least {
			least, worst = part, p
		}
	}
	if below == 0 {
		return all
	}
	return fmt.Sprintf("%s %d of %s: the worst is %s and %s in round %d, %s %s, %s of the median.", strings.TrimSuffix(all, ".")+"; less was",
		below, count.Of(len(m.Pairs), "measurement"), line(m.Nodes[worst.A]), line(m.Nodes[worst.B]), worst.Round+1, figures(worst.Value), line(m.Unit), percent(least))
}

// slowOf are the nodes whose pairs are worse than those of others: the median of theirs is less than nine tenths as good.
func slowOf(m verify.Matrix, lower bool, median float64) (slow []slowNode) {
	of := make([][]float64, len(m.Nodes))
	for _, p := range m.Pairs {
		if min(p.A, p.B) >= 0 && max(p.A, p.B) < len(m.Nodes) && finite(p.Value) && p.Value >= 0 {
			of[p.A], of[p.B] = append(of[p.A], p.Value), append(of[p.B], p.Value)
		}
	}
	type found struct {
		node int
		part float64
	}
	var all []found
	for i, numbers := range of {
		if part := (grid{lower: lower}).part(verify.Median(numbers), median); len(numbers) > 0 && part < 0.9 {
			all = append(all, found{i, part})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(a.part, b.part), a.node-b.node) })
	for _, f := range all[:min(len(all), mostSlow)] {
		numbers := of[f.node]
		slow = append(slow, slowNode{line(m.Nodes[f.node]), figures(verify.Median(numbers)) + " " + line(m.Unit), percent(f.part), fmt.Sprint(len(numbers))})
	}
	return slow
}
