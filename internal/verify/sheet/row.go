package sheet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
)

// Row is results of one check that say the same of several places.
type Row struct {
	Suite    string
	Check    string
	Verdict  verify.Verdict
	Required bool
	// On are the places: nodes, pairs, mounts. None is the cluster.
	On []string
	// Found is what was seen; of numbers that differ, from where to where they go.
	Found, Want, Why, Hint, Source string
	// Each is what was found at each place, where that differs, and Evidence what programs printed at the first of them.
	Each     []Said
	Evidence []Said
	// Expected and Typical are of what was measured: what it should be, and the median. Zero is not known.
	Expected, Typical float64
	Unit              string
}

// Said is what was found at one place.
type Said struct {
	On    string
	Lines []string
}

// order is how verdicts are listed: what is wrong first, and what is well last.
func order(v verify.Verdict) int {
	return slices.Index([]verify.Verdict{verify.Fail, verify.Blind, verify.Warn, verify.Skip, verify.Pass}, v)
}

// Bounds of what is shown of one check with one verdict in one suite: so many rows, then the rest in one.
const mostRows = 12

// Rows are a suite's results, what is wrong first. A suite that has none stands for itself, with its reason.
func Rows(s verify.Suite) []Row {
	results := s.Results
	if len(results) == 0 {
		results = []verify.Result{{Check: s.Name, Verdict: s.Verdict, Why: s.Why}}
	}
	var rows []Row
	for _, group := range merged(grouped(results)) {
		rows = append(rows, rowOf(s.Name, group))
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(order(a.Verdict), order(b.Verdict)) })
	return rows
}

// likeness is what results have in common that differ in their place and their number alone.
type likeness struct {
	check                    string
	verdict                  verify.Verdict
	required                 bool
	found, want, why, source string
	unit, path               string
}

// kin is which results may share a row, if there are too many rows.
type kin struct {
	check   string
	verdict verify.Verdict
}

// grouped are results that say the same, in the order in which the first of them comes.
func grouped(results []verify.Result) [][]verify.Result {
	groups, all := map[likeness][]verify.Result{}, sayingsOf(results)
	var keys []likeness
	for _, r := range results {
		k := likeness{check: r.Check, verdict: r.Verdict, required: r.Required, want: all.said(r, r.Want), why: all.said(r, r.Why), source: r.Source}
		if strings.Contains(r.On, "/") { // mounts and buckets are not alike, as nodes are
			k.path = r.On
		}
		if r.Value == nil {
			k.found = all.said(r, r.Found)
		} else {
			k.unit = r.Value.Unit
			k.why = withoutNumbers(k.why)
			k.want = withoutNumbers(k.want)
		}
		if len(groups[k]) == 0 {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], r)
	}
	sorted := make([][]verify.Result, 0, len(keys))
	for _, k := range keys {
		sorted = append(sorted, groups[k])
	}
	return sorted
}

// sayings are the texts of results with the first place of which they are said, or "" if there are several.
type sayings map[saying]string

type saying struct {
	kin
	text string
}

func sayingsOf(results []verify.Result) sayings {
	all := sayings{}
	for _, r := range results {
		for _, text := range []string{r.Want, r.Why, r.Found} {
			k := saying{kin{r.Check, r.Verdict}, text}
			if on, ok := all[k]; ok && on != r.On {
				all[k] = ""
			} else if !ok {
				all[k] = r.On
			}
		}
	}
	return all
}

// said is a text without the name of its place, unless the same is said of other places: then it names that place to all of them.
func (s sayings) said(r verify.Result, text string) string {
	if s[saying{kin{r.Check, r.Verdict}, text}] == "" {
		return text
	}
	return nameless(text, r.On)
}

// merged puts what is too much for rows of its own together: the last row of a check and verdict is for all that is left.
func merged(groups [][]verify.Result) [][]verify.Result {
	rows := map[kin]int{}
	last := map[kin]int{}
	var kept [][]verify.Result
	for _, g := range groups {
		k := kin{g[0].Check, g[0].Verdict}
		if rows[k]++; rows[k] > mostRows {
			kept[last[k]] = append(kept[last[k]], g...)
			continue
		}
		last[k] = len(kept)
		kept = append(kept, slices.Clone(g))
	}
	return kept
}

// rowOf is one row of results.
func rowOf(suite string, group []verify.Result) Row {
	first := group[0]
	row := Row{
		Suite: line(suite), Check: line(first.Check), Verdict: first.Verdict, Required: first.Required,
		Found: line(first.Found), Want: line(first.Want), Why: line(first.Why), Hint: line(first.Hint), Source: line(first.Source),
	}
	for _, r := range group {
		if r.On != "" {
			row.On = append(row.On, line(r.On))
		}
	}
	row.measure(group)
	if len(group) > 1 {
		row.share(group)
	}
	row.prove(group)
	return row
}

// measure sums up numbers.
func (r *Row) measure(group []verify.Result) {
	numbers := numbersOf(group)
	if len(numbers) == 0 {
		return
	}
	r.Unit, r.Expected, r.Typical = line(group[0].Value.Unit), group[0].Value.Expected, verify.Median(numbers)
	if len(group) > 1 {
		r.Found = spanOf(group, numbers, r.Unit)
	}
}

func numbersOf(group []verify.Result) (numbers []float64) {
	for _, r := range group {
		if r.Value != nil && group[0].Value != nil && r.Value.Unit == group[0].Value.Unit && finite(r.Value.Number) {
			numbers = append(numbers, r.Value.Number)
		}
	}
	return numbers
}

func finite(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }

// spanOf is from where to where numbers go. Times that may be off, or go either way, are differences: they are all within the largest.
func spanOf(group []verify.Result, numbers []float64, unit string) string {
	least, most := slices.Min(numbers), slices.Max(numbers)
	doubt := 0.0
	for _, x := range group {
		if x.Value != nil && finite(x.Value.Doubt) {
			doubt = max(doubt, x.Value.Doubt)
		}
	}
	within := max(math.Abs(least), math.Abs(most)) + doubt
	switch {
	case unit == "s" && (doubt > 0 || least < 0) && within < 1e9:
		return "within " + count.Brief(time.Duration(within*float64(time.Second)))
	case unit == "s" && least >= 0 && most < 0.1:
		return span(1000*least, 1000*most, "ms")
	}
	return span(least, most, unit)
}

func span(least, most float64, unit string) string {
	if a, b := figures(least), figures(most); a != b {
		return strings.TrimSpace(a + " to " + b + " " + unit)
	}
	return strings.TrimSpace(figures(least) + " " + unit)
}

// figures is a number to three figures, or as many as its whole part has.
func figures(n float64) string {
	if math.Abs(n) >= 100 && math.Abs(n) < 1e15 {
		return strconv.FormatFloat(math.Round(n), 'f', 0, 64)
	}
	return strconv.FormatFloat(n, 'g', 3, 64)
}

// share keeps what all of a group have in common, and what each has besides.
func (r *Row) share(group []verify.Result) {
	texts, plain := map[string]bool{}, map[string]bool{}
	for _, x := range group {
		texts[nameless(x.Found, x.On)], plain[x.Found] = true, true
	}
	if kinds := min(len(texts), len(plain)); kinds > 1 {
		r.each(group, kinds)
	} else if len(plain) > 1 {
		r.Found = nameless(r.Found, line(group[0].On))
	}
	r.Want = common(group, func(x verify.Result) string { return x.Want })
	r.Why = common(group, func(x verify.Result) string { return x.Why })
	r.Hint = common(group, func(x verify.Result) string { return x.Hint })
}

// mostEach is for how many places it is listed what was found there.
const mostEach = 200

func (r *Row) each(group []verify.Result, kinds int) {
	if r.Unit == "" {
		r.Found = fmt.Sprintf("%s, and %d others", r.Found, kinds-1)
	}
	for i, x := range group {
		if i == mostEach {
			r.Each = append(r.Each, Said{Lines: []string{fmt.Sprintf("%d more are left out here", len(group)-i)}})
			return
		}
		r.Each = append(r.Each, Said{On: line(x.On), Lines: []string{line(strings.TrimSpace(x.Found + ellipsis(x.Why)))}})
	}
}

func ellipsis(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// common is a text of all of a group, without the names of places; of several ones it is the first, and how many others there are.
func common(group []verify.Result, text func(verify.Result) string) string {
	if !slices.ContainsFunc(group, func(x verify.Result) bool { return text(x) != text(group[0]) }) {
		return line(text(group[0]))
	}
	first, others := nameless(text(group[0]), group[0].On), map[string]bool{}
	for _, x := range group[1:] {
		if t := nameless(text(x), x.On); t != first && t != "" {
			others[t] = true
		}
	}
	if n := len(others); n > 0 {
		return line(first) + fmt.Sprintf(" (and %d like it)", n)
	}
	return line(first)
}

// Bounds of evidence.
const (
	mostEvidence = 3
	mostLines    = 40
)

// prove keeps what programs printed at the first places.
func (r *Row) prove(group []verify.Result) {
	for _, x := range group {
		if len(x.Evidence) == 0 || len(r.Evidence) == mostEvidence {
			continue
		}
		said := Said{On: line(x.On)}
		for _, text := range x.Evidence[:min(len(x.Evidence), mostLines)] {
			said.Lines = append(said.Lines, line(text))
		}
		if more := len(x.Evidence) - mostLines; more > 0 {
			said.Lines = append(said.Lines, fmt.Sprintf("... and %d lines more", more))
		}
		r.Evidence = append(r.Evidence, said)
	}
}
