package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
)

// Host, Container, GPU and EFA judge what a machine tells of itself, one suite each. on is its name; n is what is right there.
// What could not be seen is blind, and what does not apply is skipped.
func Host(on string, f verify.Facts, n expect.Node) []verify.Result {
	return machine(verify.Host, on, f, n)
}

// Basic is Host for the mounts that the cluster's file names.
func Basic(on string, f verify.Facts, n expect.Node) []verify.Result {
	return machine(verify.Basic, on, f, n)
}

// Container is Host for what is seen from within an image.
func Container(on string, f verify.Facts, n expect.Node) []verify.Result {
	return machine(verify.Container, on, f, n)
}

// GPU is Host for the machine's GPUs.
func GPU(on string, f verify.Facts, n expect.Node) []verify.Result {
	return machine(verify.GPU, on, f, n)
}

// EFA is Host for the machine's EFA.
func EFA(on string, f verify.Facts, n expect.Node) []verify.Result {
	if devices, blind := f.EFA.Devices.See(); n.InstanceType == "" && blind == "" && len(devices) == 0 {
		return []verify.Result{{Check: "efa-devices", On: on, Verdict: verify.Skip, Found: "none", Why: "this machine has no EFA, and nobody says that it should"}}
	}
	return machine(verify.EFA, on, f, n)
}

func machine(suite, on string, f verify.Facts, n expect.Node) []verify.Result {
	var all []verify.Result
	known := looks()
	for _, e := range n.Of(suite) {
		look, ok := known[e.Check]
		if !ok {
			look = func(*verify.Facts, expect.Expectation) []sight { return []sight{{blind: "nothing looks at this"}} }
		}
		r := compare(e, look(&f, e), &f)
		if r.On = on; e.On != "" {
			r.On = strings.TrimPrefix(on+":"+e.On, ":")
		}
		all = append(all, r)
	}
	return all
}

// sight is what a check saw of one thing: of the machine, or of one of its GPUs.
type sight struct {
	// of names the thing where there are several, such as "GPU 3".
	of string
	// text is what was seen, in words; number is it where numeric says so.
	text    string
	number  float64
	numeric bool
	// blind is why nothing was seen, none why there is nothing to see that should be: it does not apply.
	blind, none string
	// verdict is set where the look itself knows it, and why says so.
	verdict  verify.Verdict
	why      string
	evidence []string
}

// judged is a sight and what it comes to.
type judged struct {
	sight
	source string
}

// order has the verdicts, the worst first.
var order = [...]verify.Verdict{verify.Fail, verify.Blind, verify.Warn, verify.Pass, verify.Skip}

// compare holds what was seen against what is right.
func compare(e expect.Expectation, seen []sight, f *verify.Facts) verify.Result {
	r := verify.Result{Check: e.Check, Want: e.Want, Source: e.Source, Required: e.Required}
	if e.Skip != "" {
		r.Verdict, r.Why, r.Want, r.Required = verify.Skip, e.Skip, "", false
		return r
	}
	if len(seen) == 0 {
		r.Verdict, r.Why = verify.Skip, "there is nothing of the kind here"
		return r
	}
	all := make([]judged, len(seen))
	for i, s := range seen {
		all[i] = weigh(e, s, f)
	}
	slices.SortStableFunc(all, func(a, b judged) int {
		return cmp.Compare(slices.Index(order[:], a.verdict), slices.Index(order[:], b.verdict))
	})
	worst := all[0]
	r.Verdict, r.Found = worst.verdict, found(all)
	if r.Verdict == verify.Pass {
		return r
	}
	r.Why, r.Evidence = worst.why, worst.evidence
	if worst.source != "" {
		r.Source = worst.source
	}
	if r.Verdict != verify.Skip && r.Verdict != verify.Blind {
		r.Hint = e.Hint
	}
	return r
}

// found says what was seen: once if all is equal, and otherwise what is not right by name.
func found(all []judged) string {
	texts := map[string]int{}
	for _, j := range all {
		texts[j.text]++
	}
	if len(texts) == 1 {
		return all[0].text
	}
	var parts []string
	for _, j := range all {
		if j.verdict == all[0].verdict && j.text != "" {
			parts = append(parts, strings.TrimPrefix(j.of+": "+j.text, ": "))
		}
	}
	const most = 8
	if more := len(parts) - most; more > 0 {
		parts = append(parts[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// weigh judges one sight.
func weigh(e expect.Expectation, s sight, f *verify.Facts) judged {
	j := judged{sight: s}
	switch {
	case s.blind != "":
		j.verdict, j.why = verify.Blind, s.blind
	case s.none != "" && e.Required:
		j.verdict, j.why = verify.Blind, s.none
	case s.none != "":
		j.verdict, j.why = verify.Skip, s.none
	case s.verdict != "":
		j.why = cmp.Or(s.why, e.Why)
	case len(e.Bands) > 0:
		j.version(e, f)
	case s.numeric:
		j.bound(e)
	case len(e.Words) > 0 && !slices.Contains(e.Words, s.text):
		j.verdict, j.why = verify.Fail, e.Why
	default:
		j.verdict = verify.Pass
	}
	if e.Soft && j.verdict == verify.Fail {
		j.verdict = verify.Warn
	}
	if j.verdict == verify.Fail || j.verdict == verify.Warn {
		j.why = cmp.Or(j.why, e.Why, "it is not what is right here")
	}
	return j
}

// bound judges a number.
func (j *judged) bound(e expect.Expectation) {
	switch {
	case !e.Must.Holds(j.number):
		j.verdict, j.why = verify.Fail, e.Why
	case !e.Should.Holds(j.number):
		j.verdict, j.why = verify.Warn, e.Why
	default:
		j.verdict = verify.Pass
	}
}

// version judges a version by the worst band that it is in.
func (j *judged) version(e expect.Expectation, f *verify.Facts) {
	have, ok := versionOf(j.text)
	if !ok {
		j.verdict, j.why = verify.Blind, fmt.Sprintf("%q is no version", j.text)
		return
	}
	j.verdict = verify.Pass
	for _, b := range e.Bands {
		if !within(have, b) || b.With != "" && !beside(b, f) || j.verdict == verify.Fail || j.verdict == b.Verdict {
			continue
		}
		j.verdict, j.why, j.source = b.Verdict, b.Why, b.Source
	}
}

func within(have []int, b expect.Band) bool {
	from, _ := versionOf(b.From)
	below, limited := versionOf(b.Below)
	return slices.Compare(have, from) >= 0 && (!limited || slices.Compare(have, below) < 0)
}

// beside says whether the machine has the program that a band is about, from the version on.
func beside(b expect.Band, f *verify.Facts) bool {
	from, _ := versionOf(b.WithFrom)
	for _, s := range nccl(f, expect.Expectation{}) {
		if have, ok := versionOf(s.text); ok && slices.Compare(have, from) >= 0 {
			return true
		}
	}
	return false
}

// versionOf reads the numbers that a version begins with: 1.8.1-aws is 1, 8, 1.
func versionOf(text string) (numbers []int, ok bool) {
	for part := range strings.SplitSeq(text, ".") {
		n, digits := 0, 0
		for digits < len(part) && digits < 9 && part[digits] >= '0' && part[digits] <= '9' {
			n, digits = n*10+int(part[digits]-'0'), digits+1
		}
		if digits == 0 {
			break
		}
		if numbers = append(numbers, n); digits < len(part) {
			break
		}
	}
	return numbers, len(numbers) > 0
}
