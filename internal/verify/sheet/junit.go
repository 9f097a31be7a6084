package sheet

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/verify"
)

// JUnit's XML, in the elements and attributes that Jenkins' schema junit-10.xsd has, which pytest and Maven write, too:
// https://github.com/jenkinsci/xunit-plugin/blob/master/src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Time     string       `xml:"time,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr,omitempty"`
		Properties []junitProperty `xml:"properties>property,omitempty"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string     `xml:"name,attr"`
		Class     string     `xml:"classname,attr"`
		Skipped   *junitWhat `xml:"skipped"`
		Error     *junitWhat `xml:"error"`
		Failure   *junitWhat `xml:"failure"`
		SystemOut string     `xml:"system-out,omitempty"`
	}
	junitWhat struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a report as CI reads it: a suite for each suite, a case for each result. A fail is a failure, what a suite needs
// and nobody could look at is an error, and the rest that was not looked at or does not apply is skipped, with its reason. A
// warning passes, and its output says so.
func JUnit(r verify.Report) ([]byte, error) {
	all := junitSuites{Name: "muster verify " + line(r.Of()), Time: seconds(r.Seconds)}
	for _, s := range r.Suites {
		all.Suites = append(all.Suites, junitOf(s, r))
	}
	if r.Error != "" {
		all.Suites = append(all.Suites, junitOf(verify.Suite{Name: "end", Began: r.Began, Results: []verify.Result{
			{Check: "ran-to-its-end", Verdict: verify.Blind, Required: true, Why: r.Error}}}, r))
	}
	for _, s := range all.Suites {
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JUnit's XML: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

func junitOf(s verify.Suite, r verify.Report) junitSuite {
	suite := junitSuite{Name: line(s.Name), Time: seconds(s.Seconds), Properties: properties(r)}
	if !s.Began.IsZero() {
		suite.Timestamp = s.Began.UTC().Format("2006-01-02T15:04:05")
	}
	results := s.Results
	if len(results) == 0 {
		results = []verify.Result{{Check: s.Name, Verdict: s.Verdict, Why: s.Why, Required: s.Verdict == verify.Blind}}
	}
	for _, x := range results {
		c := caseOf(s.Name, x)
		suite.Tests++
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	return suite
}

func caseOf(suite string, x verify.Result) junitCase {
	c := junitCase{Name: line(strings.TrimSpace(x.Check + " " + x.On)), Class: "muster.verify." + line(suite)}
	what := &junitWhat{Message: line(messageOf(x)), Type: string(x.Verdict), Text: textOf(x)}
	switch {
	case x.Verdict == verify.Fail:
		c.Failure = what
	case x.Verdict == verify.Blind && x.Required:
		c.Error = what
	case x.Verdict == verify.Pass || x.Verdict == verify.Warn:
		c.SystemOut = string(x.Verdict) + ": " + what.Message + what.Text
	default:
		c.Skipped = what
	}
	return c
}

// messageOf says in a line what a result is.
func messageOf(x verify.Result) string {
	var parts []string
	if x.Found != "" {
		parts = append(parts, "found "+x.Found)
	}
	if x.Want != "" {
		parts = append(parts, "want "+x.Want)
	}
	text := strings.Join(parts, ", ")
	if x.Why != "" {
		text = strings.TrimPrefix(text+": "+x.Why, ": ")
	}
	if x.Verdict == verify.Skip || x.Verdict == verify.Blind {
		return strings.TrimSuffix(string(x.Verdict)+": "+text, ": ")
	}
	return text
}

// textOf is what there is to know besides.
func textOf(x verify.Result) string {
	var b strings.Builder
	for _, part := range []struct{ name, text string }{{"hint", x.Hint}, {"source", x.Source}} {
		if part.text != "" {
			fmt.Fprintf(&b, "\n%s: %s", part.name, line(part.text))
		}
	}
	for _, text := range x.Evidence[:min(len(x.Evidence), mostLines)] {
		b.WriteString("\n  " + line(text))
	}
	return b.String()
}

// properties say who was verified.
func properties(r verify.Report) []junitProperty {
	var all []junitProperty
	for _, p := range identity(r) {
		all = append(all, junitProperty(p))
	}
	return all
}

// fact is a line of a report's identity.
type fact struct{ Name, Value string }

// identity is who was verified and by what, as far as it is known.
func identity(r verify.Report) []fact {
	id := r.Identity
	all := []fact{{"cluster", id.Cluster}, {"place", id.Place}, {"file", id.File}, {"file's SHA-256", id.FileSHA256}, {"partition", r.Partition},
		{"instance types", strings.Join(id.InstanceTypes, ", ")}, {"muster", id.Muster}, {"Slurm", id.Slurm}}
	for _, name := range slices.Sorted(maps.Keys(id.Versions)) {
		all = append(all, fact{name, id.Versions[name]})
	}
	all = slices.DeleteFunc(all, func(f fact) bool { return f.Value == "" })
	for i, f := range all[:min(len(all), mostFacts)] {
		all[i] = fact{line(f.Name), line(f.Value)}
	}
	return all[:min(len(all), mostFacts)]
}

// mostFacts are as many lines as an identity has.
const mostFacts = 60

// seconds is a time as JUnit's schema wants it.
func seconds(s float64) string {
	if !finite(s) || s < 0 || s > 1e9 {
		s = 0
	}
	return fmt.Sprintf("%.3f", s)
}
