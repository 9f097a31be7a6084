package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/verify"
)

// Earlier is a report of the same cluster that measurements are held against of which nobody has published what is right.
type Earlier struct {
	verify.Report
	// Name is how people know it, such as its file's.
	Name string
}

// Source says where such an expectation is from.
func (e Earlier) Source() string {
	return fmt.Sprintf("the earlier report %s of %s", e.Name, e.Began.UTC().Format("2006-01-02 15:04 UTC"))
}

// Suite is what it has of a suite, nil if nothing.
func (e Earlier) Suite(name string) *verify.Suite {
	i := slices.IndexFunc(e.Suites, func(s verify.Suite) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &e.Suites[i]
}

// Series is a curve that a suite of it has, nil if it has none or more than one.
func (e Earlier) Series(suite, name string) *verify.Series {
	s := e.Suite(suite)
	if s == nil {
		return nil
	}
	var found *verify.Series
	for i := range s.Series {
		if s.Series[i].Name != name {
			continue
		}
		if found != nil {
			return nil
		}
		found = &s.Series[i]
	}
	return found
}

// Parts of an earlier measurement below which a later one is a warning and a failure: muster's own, as others use networks and disks, too.
const (
	earlierWarn = 0.8
	earlierFail = 0.5
	earlierRule = "muster warns below 80 % and fails below 50 % of "
	// unjudged begins the reason of a measurement that nothing was expected of.
	unjudged = "measured, and not judged: "
)

// Beside holds the measurements of a suite against an earlier report's, where nothing else is known of what is right. loose is why being
// worse is no failure, such as that all nodes share one machine; empty if it is one.
func Beside(suite string, results []verify.Result, e Earlier, loose string) {
	was := e.Suite(suite)
	for i := range results {
		r := &results[i]
		if r.Verdict != verify.Pass || r.Value == nil || r.Value.Number <= 0 || r.Source != "" || !strings.HasPrefix(r.Why, unjudged) {
			continue
		}
		before := of(was, results, *r)
		if before == nil {
			r.Why += "; the earlier report has none of it"
			continue
		}
		r.Value.Expected = before.Value.Number
		r.Why, r.Want, r.Source = "", fmt.Sprintf("%.4g %s, as before", before.Value.Number, r.Value.Unit), earlierRule+e.Source()
		part := r.Value.Number / before.Value.Number
		if r.Value.Lower {
			part = 1 / part
		}
		if part >= earlierWarn {
			continue
		}
		r.Verdict, r.Why = verify.Warn, fmt.Sprintf("it is %.1f times worse than it was", 1/part)
		if part < earlierFail && loose == "" {
			r.Verdict = verify.Fail
		}
		if loose != "" {
			r.Why += "; " + loose
		}
	}
}

// of is the earlier measurement of the same thing: on the same place, or the only one of its kind where nodes have other names now.
func of(was *verify.Suite, now []verify.Result, r verify.Result) *verify.Result {
	if was == nil {
		return nil
	}
	var found *verify.Result
	kinds := 0
	for i := range was.Results {
		b := &was.Results[i]
		if b.Check != r.Check || b.Value == nil || b.Value.Unit != r.Value.Unit || b.Value.Number <= 0 {
			continue
		}
		if b.On == r.On {
			return b
		}
		found, kinds = b, kinds+1
	}
	is := 0
	for _, n := range now {
		if n.Check == r.Check {
			is++
		}
	}
	if kinds != 1 || is != 1 {
		return nil
	}
	return found
}
