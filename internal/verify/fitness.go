package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fitness is what the burn-in of a new machine comes to, before its first job.
type Fitness struct {
	// Schema is 1.
	Schema int `json:"schema"`
	// Unfit is why the machine is to take no job, empty if it may. What could not be looked at makes it neither fit nor unfit.
	Unfit string `json:"unfit,omitempty"`
	// Evidence are lines about that: why, and what programs printed.
	Evidence []string `json:"evidence,omitempty"`
	// Blind is what nobody could look at, and Warn what is worth a look.
	Blind string `json:"blind,omitempty"`
	Warn  string `json:"warn,omitempty"`
	// Said is what was measured, in a line.
	Said string `json:"said"`
}

// mostSaid bounds how many results a line of a Fitness names.
const mostSaid = 12

// FitnessOf sums a report up, by the results that make the machine unfit.
func FitnessOf(r Report, unfit []Result) Fitness {
	f := Fitness{Schema: 1, Unfit: named(unfit), Evidence: evidence(unfit)}
	var blind, warn []Result
	var ran, measured []string
	for _, s := range r.Suites {
		for _, one := range s.Results {
			switch {
			case one.Verdict == Blind:
				blind = append(blind, one)
			case one.Verdict == Warn, one.Verdict == Fail && !contains(unfit, one):
				warn = append(warn, one)
			case one.Verdict == Pass && one.Value != nil:
				measured = append(measured, strings.TrimSpace(one.Check+" "+figure(*one.Value)))
			}
		}
		if slices.ContainsFunc(s.Results, func(r Result) bool { return r.Verdict == Pass || r.Verdict == Warn || r.Verdict == Fail }) {
			ran = append(ran, s.Name)
		}
	}
	if f.Blind = named(blind); r.Error != "" {
		f.Blind = strings.TrimPrefix(f.Blind+"; it did not come to its end: "+r.Error, "; ")
	}
	f.Warn = named(warn)
	if more := len(measured) - mostSaid; more > 0 {
		measured = append(measured[:mostSaid], fmt.Sprintf("%d more", more))
	}
	f.Said = strings.Join(append([]string{f.verdict(ran, r.Seconds)}, measured...), ", ")
	return f
}

// verdict says what was proven.
func (f Fitness) verdict(ran []string, seconds float64) string {
	all := strings.Join(ran, ", ")
	switch {
	case len(ran) == 0 && f.Blind != "":
		return fmt.Sprintf("nothing could be looked at in %.0f s", seconds)
	case len(ran) == 0:
		return "no suite applies to this machine"
	case f.Unfit != "":
		return fmt.Sprintf("unfit after %.0f s: %s", seconds, all)
	case f.Blind != "":
		return fmt.Sprintf("nothing failed, and not all was seen, in %.0f s: %s", seconds, all)
	}
	return fmt.Sprintf("fit after %.0f s: %s", seconds, all)
}

func figure(v Value) string {
	if v.Number >= 1e4 {
		return fmt.Sprintf("%.0f %s", v.Number, v.Unit)
	}
	return fmt.Sprintf("%.4g %s", v.Number, v.Unit)
}

func contains(all []Result, r Result) bool {
	return slices.ContainsFunc(all, func(o Result) bool { return o.Check == r.Check && o.On == r.On && o.Found == r.Found })
}

// named are results in a line: what was found, else why nothing was. The same of several parts is said once. What differs from machine
// to machine is no part of it, such as a file's name: those that fail alike are to be seen to.
func named(all []Result) string {
	var said []string
	for _, r := range all {
		text := r.Check
		if _, part, ok := strings.Cut(r.On, ":"); ok {
			text += " of " + part
		}
		more := cmp.Or(r.Found, r.Why)
		if r.Verdict == Blind {
			more = cmp.Or(r.Why, r.Found)
		}
		if more = strings.Join(strings.Fields(more), " "); more != "" {
			text += ": " + more
		}
		if !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	if more := len(said) - mostSaid; more > 0 {
		said = append(said[:mostSaid], fmt.Sprintf("%d more", more))
	}
	return strings.Join(said, "; ")
}

// evidence are lines about results: why each is no pass, and what programs printed.
func evidence(all []Result) []string {
	var lines []string
	for _, r := range all {
		lines = append(lines, strings.TrimSuffix(strings.Join(slices.DeleteFunc([]string{r.Check + " on " + r.On, r.Found, r.Why}, func(s string) bool { return s == "" }), ": "), ": "))
		lines = append(lines, r.Evidence...)
	}
	return lines[:min(len(lines), mostEvidence)]
}

// mostEvidence is how many lines are kept.
const mostEvidence = 20

// Line is what is told of a machine that may take jobs.
func (f Fitness) Line() string {
	if f.Warn == "" {
		return f.Said
	}
	return f.Said + "; worth a look: " + f.Warn
}
