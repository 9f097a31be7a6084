package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
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
	skips := skipLines(rows)
	rows = samePlaces(slices.DeleteFunc(rows, func(r sheet.Row) bool { return r.Verdict == verify.Skip }))
	t := page.Table{{"VERDICT", "SUITE", "CHECK", "ON", "FOUND", "WANT"}}
	for _, row := range rows {
		t.Add(string(row.Verdict), row.Suite, row.Check, page.OrDash(hostsOf(row.On)), page.OrDash(row.Found), page.OrDash(row.Want))
	}
	if len(rows) > 0 {
		if err := t.Write(a.out); err != nil {
			return err
		}
		fmt.Fprintln(a.out)
	}
	var lines []string
	for _, row := range rows {
		lines = append(lines, advice(row)...)
	}
	for _, text := range append(lines, skips...) {
		if err := page.Line(a.out, page.Printable(text)); err != nil {
			return err
		}
	}
	return page.Line(a.out, page.Printable(verifySummary(r)))
}

// skipLines say once for each suite and reason how many checks do not apply.
func skipLines(rows []sheet.Row) (lines []string) {
	type why struct{ suite, why string }
	var order []why
	checks := map[why][]string{}
	for _, r := range rows {
		if r.Verdict != verify.Skip {
			continue
		}
		k := why{r.Suite, r.Why}
		if checks[k] == nil {
			order = append(order, k)
		}
		if !slices.Contains(checks[k], r.Check) {
			checks[k] = append(checks[k], r.Check)
		}
	}
	for _, k := range order {
		what := strings.Join(checks[k], ", ")
		if n := len(checks[k]); n > 3 {
			what = fmt.Sprintf("%s and %d more", strings.Join(checks[k][:2], ", "), n-2)
		}
		lines = append(lines, fmt.Sprintf("skip %s %s: %s", k.suite, what, k.why))
	}
	return lines
}

// samePlaces makes one row of those that passed the same check on the same directory of several machines.
func samePlaces(rows []sheet.Row) (out []sheet.Row) {
	type check struct{ suite, check, dir string }
	at := map[check]int{}
	for _, r := range rows {
		node, dir, ok := "", "", false
		if len(r.On) == 1 {
			node, dir, ok = strings.Cut(r.On[0], ":/")
		}
		if !ok || r.Verdict != verify.Pass {
			out = append(out, r)
			continue
		}
		k := check{r.Suite, r.Check, ":/" + dir}
		if i, seen := at[k]; seen {
			out[i].On = append(out[i].On[:len(out[i].On)-1], node, k.dir)
			continue
		}
		at[k] = len(out)
		r.On = []string{node, k.dir}
		out = append(out, r)
	}
	for _, i := range at {
		n := len(out[i].On) - 1
		out[i].On = []string{hostsOf(out[i].On[:n]) + out[i].On[n]}
	}
	return out
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
	all := 0
	for _, v := range verdicts() {
		if n := r.Counts[v]; n > 0 {
			all += n
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if all > 0 { // rows of several machines are shown once
		parts = []string{count.Of(all, "result") + ": " + strings.Join(parts, ", ")}
	}
	text := fmt.Sprintf("%s: %s (%s) on %s in %s", r.Of(), r.Verdict, cmp.Or(strings.Join(parts, ", "), "no results"),
		count.Of(len(r.Nodes), "node"), count.Span(time.Duration(r.Seconds*float64(time.Second))))
	if r.Error != "" {
		text += "; it did not come to its end: " + r.Error
	}
	return text
}

// reportError is the exit code that a report means. A gate that nobody looked through is not open: what is blind, or ended before its
// last suite, has to be looked at.
func reportError(r verify.Report, strict bool) error {
	switch {
	case r.Verdict == verify.Fail:
		return fault.Exit(fault.ExitProblem)
	case r.Error != "", r.Verdict == verify.Blind, strict && (r.Verdict == verify.Warn || r.Verdict == verify.Skip):
		return fault.Exit(fault.ExitLook)
	}
	return nil
}
