package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/sheet"
)

// verdicts are in the order in which people want to read of them.
func verdicts() []verify.Verdict {
	return []verify.Verdict{verify.Fail, verify.Blind, verify.Warn, verify.Skip, verify.Pass}
}

// verifyText writes a report for people: what is wrong first, and what holds for many nodes once.
func (a *app) verifyText(r verify.Report) error {
	var rows []sheet.Row
	for _, s := range r.Suites {
		rows = append(rows, sheet.Rows(s)...)
	}
	slices.SortStableFunc(rows, func(x, y sheet.Row) int {
		return cmp.Compare(slices.Index(verdicts(), x.Verdict), slices.Index(verdicts(), y.Verdict))
	})
	t := page.Table{{"VERDICT", "SUITE", "CHECK", "ON", "FOUND", "WANT"}}
	for _, row := range rows {
		t.Add(string(row.Verdict), row.Suite, row.Check, page.OrDash(hostsOf(row.On)), page.OrDash(row.Found), page.OrDash(row.Want))
	}
	if err := t.Write(a.out); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	for _, row := range rows {
		for _, text := range advice(row) {
			if err := page.Line(a.out, page.Printable(text)); err != nil {
				return err
			}
		}
	}
	return page.Line(a.out, page.Printable(verifySummary(r)))
}

// hostsOf writes places as a host list. What is no name of a node stays as it is.
func hostsOf(places []string) string {
	if slices.ContainsFunc(places, func(p string) bool { return strings.ContainsAny(p, "[],") }) {
		return strings.Join(places, ",")
	}
	return slurm.Compress(places)
}

// advice is why a row is no pass, and what to do about it.
func advice(row sheet.Row) (lines []string) {
	if row.Verdict == verify.Pass || row.Why == "" && row.Hint == "" {
		return nil
	}
	head := fmt.Sprintf("%s %s %s", row.Verdict, row.Suite, row.Check)
	if len(row.On) > 0 {
		head += " on " + hostsOf(row.On)
	}
	lines = append(lines, strings.TrimSuffix(head+": "+row.Why, ": "))
	if row.Hint != "" {
		lines = append(lines, "  do: "+row.Hint)
	}
	return lines
}

// verifySummary is all of it in a line.
func verifySummary(r verify.Report) string {
	var parts []string
	for _, v := range verdicts() {
		if n := r.Counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	text := fmt.Sprintf("%s: %s (%s) on %s in %s", r.Identity.Cluster, r.Verdict, cmp.Or(strings.Join(parts, ", "), "no results"),
		count.Of(len(r.Nodes), "node"), count.Span(time.Duration(r.Seconds*float64(time.Second))))
	if r.Error != "" {
		text += "; it did not come to its end: " + r.Error
	}
	return text
}
