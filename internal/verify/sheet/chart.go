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

// chart is curves of one name over one axis, as SVG's numbers.
type chart struct {
	ID, Title, Note        string
	XLabel, YLabel         string
	XTicks, YTicks         []tick
	Curves                 []curve
	Expected               float64 // its height, 0 for none
	ExpectedText           string
	Left, Right, Top, Base float64
	Table                  []pointRow
}

type tick struct {
	At   float64
	Text string
}

type curve struct {
	Path  string
	Class string
	Dots  []dot
	Best  string
	On    string
}

type dot struct{ X, Y float64 }

type pointRow struct{ X, Y string }

// Bounds of charts: of a suite, of curves in one, and of points of a curve.
const (
	mostCharts = 24
	mostCurves = 6
	mostPoints = 512
	mostHeats  = 6
)

// The field of a chart, in the units of its view box of 480 by 270.
const (
	fieldLeft, fieldRight = 58, 468
	fieldTop, fieldBase   = 16, 226
)

// chartsOf are a suite's series, those of one name in one chart.
func chartsOf(s verify.Suite, id string) (charts []chart) {
	type same struct{ name, x, y string }
	groups := map[same][]verify.Series{}
	var keys []same
	for _, c := range s.Series {
		c.Points = sound(c)
		if len(c.Points) == 0 {
			continue
		}
		k := same{c.Name, c.XUnit, c.YUnit}
		if len(groups[k]) == 0 {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], c)
	}
	for i, k := range keys[:min(len(keys), mostCharts)] {
		charts = append(charts, chartOf(groups[k], fmt.Sprintf("%s-chart-%d", id, i)))
	}
	return charts
}

// sound are the points that can be drawn, in order.
func sound(c verify.Series) (points []verify.Point) {
	for _, p := range c.Points[:min(len(c.Points), mostPoints)] {
		if drawable(p.X) && drawable(p.Y) && p.Y >= 0 && (!logarithmic(c) || p.X > 0 && p.Y > 0) {
			points = append(points, p)
		}
	}
	slices.SortStableFunc(points, func(a, b verify.Point) int { return cmp.Compare(a.X, b.X) })
	return points
}

// drawable says that a number has a place on an axis: nobody measures what is beyond, and there parts of numbers are none.
func drawable(n float64) bool {
	size := math.Abs(n)
	return n == 0 || size >= 1e-18 && size < 1e18
}

// logarithmic says that a series is over sizes of messages: both axes are logarithmic then.
func logarithmic(c verify.Series) bool { return c.XUnit == "B" }

func chartOf(all []verify.Series, id string) chart {
	first := all[0]
	c := chart{ID: id, Title: line(first.Name), XLabel: line(first.XUnit), YLabel: line(first.YUnit), Left: fieldLeft, Right: fieldRight, Top: fieldTop, Base: fieldBase}
	x, y := axesOf(all)
	c.XTicks, c.YTicks = x.ticks(), y.ticks()
	if logarithmic(first) {
		c.XLabel = "size of the message"
	}
	drawn := all[:min(len(all), mostCurves)]
	for i, s := range drawn {
		c.Curves = append(c.Curves, curveOf(s, x, y, i))
	}
	if more := len(all) - len(drawn); more > 0 {
		c.Note = fmt.Sprintf("%s more are in the report's JSON. ", count.Of(more, "curve"))
	}
	if first.Expected > 0 && drawable(first.Expected) {
		c.Expected, c.ExpectedText = y.at(first.Expected), "expected "+figures(first.Expected)+" "+c.YLabel
		c.Note += c.ExpectedText + ": " + cmp.Or(line(first.Source), "no source is named")
	}
	for _, p := range first.Points {
		c.Table = append(c.Table, pointRow{x.text(p.X), figures(p.Y)})
	}
	return c
}

func curveOf(s verify.Series, x, y axis, n int) curve {
	c := curve{Class: fmt.Sprintf("c%d", n), On: line(s.On)}
	var path strings.Builder
	best := s.Points[0]
	for i, p := range s.Points {
		d := dot{round(x.at(p.X)), round(y.at(p.Y))}
		c.Dots = append(c.Dots, d)
		fmt.Fprintf(&path, "%c%g %g", "ML"[min(i, 1)], d.X, d.Y)
		if p.Y > best.Y {
			best = p
		}
	}
	if logarithmic(s) { // numbers of nodes are no curve
		c.Path = path.String()
	}
	c.Best = fmt.Sprintf("best %s %s at %s", figures(best.Y), line(s.YUnit), x.text(best.X))
	return c
}

func round(n float64) float64 { return math.Round(10*n) / 10 }

// axis leads from numbers to places.
type axis struct {
	log        bool
	bytes      bool
	least      float64
	most       float64
	from, upTo float64
}

// axesOf are axes that all points and the expectation fit between.
func axesOf(all []verify.Series) (x, y axis) {
	log := logarithmic(all[0])
	x = axis{log: log, bytes: log, least: math.Inf(1), most: math.Inf(-1), from: fieldLeft, upTo: fieldRight}
	y = axis{log: log, least: math.Inf(1), most: math.Inf(-1), from: fieldBase, upTo: fieldTop}
	for _, s := range all {
		for _, p := range s.Points {
			x.least, x.most = min(x.least, p.X), max(x.most, p.X)
			y.least, y.most = min(y.least, p.Y), max(y.most, p.Y)
		}
		if s.Expected > 0 && drawable(s.Expected) {
			y.most = max(y.most, s.Expected)
		}
	}
	y.most *= 1.15
	if log {
		y.most *= 1.6
	} else {
		y.least = 0
	}
	for _, a := range []*axis{&x, &y} {
		if a.least >= a.most {
			a.most = a.least + max(1, math.Abs(a.least))
		}
	}
	return x, y
}

func (a axis) at(n float64) float64 {
	part := (n - a.least) / (a.most - a.least)
	if a.log {
		part = math.Log(n/a.least) / math.Log(a.most/a.least)
	}
	return round(a.from + (a.upTo-a.from)*min(max(part, 0), 1))
}

// text is a number of the axis in words.
func (a axis) text(n float64) string {
	if a.bytes {
		return count.Size(n)
	}
	return figures(n)
}

// ticks are the places that an axis names: powers of 32 for sizes, of ten for what else is logarithmic, round steps otherwise.
func (a axis) ticks() (all []tick) {
	step := func(n float64) {
		if n >= a.least && n <= a.most {
			all = append(all, tick{a.at(n), a.text(n)})
		}
	}
	switch {
	case a.bytes:
		for n := 1.0; n <= a.most; n *= 32 {
			step(n)
		}
	case a.log:
		apart := max(1, math.Ceil(math.Log10(a.most/a.least)/8))
		for n := math.Floor(math.Log10(a.least)/apart) * apart; n <= math.Log10(a.most); n += apart {
			step(math.Pow(10, n))
		}
	default:
		apart := roundStep((a.most - a.least) / 5)
		first := math.Ceil(a.least/apart) * apart
		for i := range 12 { // adding may not move a large number
			step(first + float64(i)*apart)
		}
	}
	return all
}

// roundStep is the next of 1, 2, 5, 10 and so on that is no less.
func roundStep(n float64) float64 {
	ten := math.Pow(10, math.Floor(math.Log10(n)))
	for _, f := range []float64{1, 2, 5} {
		if f*ten >= n {
			return f * ten
		}
	}
	return 10 * ten
}
