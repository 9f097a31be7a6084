package expect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/verify"
)

// Override is what a user expects instead of what muster does: --want CHECK=VALUE.
type Override struct {
	// Check is a check's name, and On a mount's directory, empty for all: mount-free@/fsx=5.
	Check, On string
	// Value is a number, a version, a word, or "skip".
	Value string
}

// userSource is where such an expectation is from.
const userSource = "--want"

// shortNames are for those that are asked for most.
func shortNames() map[string][]string {
	return map[string][]string{
		"driver": {"gpu-driver"}, "efa": {"efa-installer"}, "ofi": {"efa-plugin", "container-ofi"}, "nccl": {"container-nccl"}, "cuda": {"container-cuda"},
		"gpus": {"gpu-count", "container-gpus"},
	}
}

// Checks are the names of all checks that can be wished for otherwise, in alphabetical order.
func Checks() []string {
	var all []string
	for _, e := range Expected(Subject{Role: Compute}).All {
		all = append(all, e.Check)
	}
	all = append(all, "mount", "mount-size", "mount-writable", "gpu-model", "gpu-memory")
	for name := range shortNames() {
		all = append(all, name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ParseOverride reads CHECK=VALUE or CHECK@DIR=VALUE. It is false for a name of which nothing is expected: no check reads it.
func ParseOverride(text string) (o Override, known bool, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" || value == "" {
		return o, false, fmt.Errorf("%q is no expectation: write NAME=VALUE, such as driver=550.54.15, or NAME=skip", text)
	}
	o.Check, o.On, _ = strings.Cut(name, "@")
	o.Value = value
	return o, slices.Contains(Checks(), o.Check), nil
}

func (o Override) names() []string {
	if all, ok := shortNames()[o.Check]; ok {
		return all
	}
	return []string{o.Check}
}

// apply changes the expectations that the override is about. What does not apply to a machine stays so, unless there is no
// other reason than that nobody knows.
func (o Override) apply(all []Expectation) []Expectation {
	for i := range all {
		e := &all[i]
		if !slices.Contains(o.names(), e.Check) || o.On != "" && o.On != e.On {
			continue
		}
		o.change(e)
	}
	return all
}

func (o Override) change(e *Expectation) {
	e.Source = userSource + " " + o.Check + "=" + o.Value
	n, err := strconv.ParseFloat(o.Value, 64)
	switch {
	case o.Value == "skip":
		e.Skip = "the user wants it so"
	case len(e.Bands) > 0:
		e.Want, e.Bands = o.Value+" or newer", []Band{{Below: o.Value, Verdict: verify.Fail, Why: "it is older than " + o.Value, Source: userSource}}
	case err == nil:
		o.bound(e, n)
	default:
		e.Want, e.Words, e.Must, e.Should = o.Value, []string{o.Value}, Range{}, Range{}
	}
}

// bound puts a number where the expectation has its bounds: a count stays a count, a bound upwards one upwards.
func (o Override) bound(e *Expectation, n float64) {
	upwards := e.Must.Most != nil && e.Must.Least == nil || e.Should.Most != nil && e.Should.Least == nil
	both := e.Must.Least != nil && e.Must.Most != nil || e.Should.Least != nil && e.Should.Most != nil
	e.Words, e.Should = nil, Range{}
	switch {
	case both, e.Must.Least == nil && e.Must.Most == nil && !upwards:
		e.Want, e.Must = plain(n), exactly(n)
	case upwards:
		e.Want, e.Must = plain(n)+" at the most", most(n)
	default:
		e.Want, e.Must = plain(n)+" or more", least(n)
	}
}
