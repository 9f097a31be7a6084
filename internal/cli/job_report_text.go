package cli

import (
	"fmt"
	"strings"

	"github.com/muster-hpc/muster/internal/job/report"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

// mostAdvice is how many lines of advice there are.
const mostAdvice = 5

// write writes the report for people.
func (r reportAnswer) write(a *app) error {
	for _, b := range r.Blind {
		a.note("could not read %s", b)
	}
	if len(r.Rows) == 0 {
		a.note("no job held nodes%s", r.sinceText())
		for _, line := range r.Verification.note() {
			a.note("%s", line)
		}
		return nil
	}
	for _, t := range []page.Table{r.rowTable(), r.classTable()} {
		if err := t.Write(a.out); err != nil {
			return err
		}
		fmt.Fprintln(a.out)
	}
	for _, line := range append(r.advice(), r.notes()...) {
		if err := page.Line(a.out, page.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

func (r reportAnswer) sinceText() string {
	if r.Since.IsZero() {
		return ""
	}
	return " since " + clock(r.Since, r.Until)
}

// rowTable has a line for each of those who held nodes.
func (r reportAnswer) rowTable() page.Table {
	head := []string{strings.ToUpper(r.By)}
	if r.By == string(report.ByJob) {
		head = append(head, "NAME", "USER", "STATE")
	} else {
		head = append(head, "JOBS")
	}
	head = append(head, "RUNS", "QUEUED", "NODE TIME", "GOODPUT", "COST", "MOST OF THE REST")
	t := page.Table{head}
	for _, row := range append(r.Rows, r.Total) {
		cells := []string{row.Key}
		switch {
		case r.By != string(report.ByJob):
			cells = append(cells, fmt.Sprint(row.Jobs))
		default:
			cells = append(cells, row.Name, row.User, row.State)
		}
		t.Add(append(cells, fmt.Sprint(row.Runs), hours(row.QueueHours), hours(row.NodeHours), row.goodput(), row.cost(), row.rest())...)
	}
	return t
}

// hours is a time to three figures.
func hours(h float64) string {
	switch s := h * 3600; {
	case s < 120:
		return figures(s) + " s"
	case h < 1:
		return figures(h*60) + " min"
	}
	return figures(h) + " h"
}

// goodput is a part that trained, or between which parts it lies.
func (r reportRow) goodput() string {
	switch {
	case r.Goodput == nil:
		return "-"
	case *r.GoodputMost-*r.Goodput < 0.005:
		return portion(*r.Goodput)
	case *r.Goodput == 0 && *r.GoodputMost > 0.5:
		return "not known"
	}
	return portion(*r.Goodput) + " to " + portion(*r.GoodputMost)
}

func portion(part float64) string { return fmt.Sprintf("%.0f %%", 100*part) }

// cost is what all of it cost, as far as prices are known.
func (r reportRow) cost() string {
	switch {
	case r.USD == nil:
		return "-"
	case r.UnpricedNodeHours > 0:
		return "over " + count.Dollars(*r.USD)
	}
	return count.Dollars(*r.USD)
}

// rest is the class that took the most of the time that did not train.
func (r reportRow) rest() string {
	c := r.Classes[r.worst]
	if c.NodeHours <= 0 || r.NodeHours <= 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s", c.text, portion(c.NodeHours/r.NodeHours))
}

// classTable is where all of the time went.
func (r reportAnswer) classTable() page.Table {
	t := page.Table{{"WHERE THE TIME WENT", "NODE TIME", "PART", "COST"}}
	for _, c := range r.Total.Classes {
		if c.NodeHours > 0 {
			cost := "-"
			if c.USD != nil {
				cost = count.Dollars(*c.USD)
			}
			t.Add(c.text, hours(c.NodeHours), portion(c.NodeHours/r.Total.NodeHours), cost)
		}
	}
	return t
}

// advice is what to do about what cost most in the rows that held most, once for all rows that it fits.
func (r reportAnswer) advice() (lines []string) {
	type key struct{ class, advice string }
	var order []key
	rows, held := map[key][]string{}, map[key]float64{}
	for _, row := range r.Rows {
		if row.Advice == "" {
			continue
		}
		c := row.Classes[row.worst]
		k := key{c.text, row.Advice}
		if len(rows[k]) == 0 {
			order = append(order, k)
		}
		rows[k], held[k] = append(rows[k], row.Key), held[k]+c.NodeHours
	}
	for _, k := range order[:min(len(order), mostAdvice)] {
		lines = append(lines, fmt.Sprintf("%s %s (%s, %s of nodes): %s", r.By, firstOf(rows[k]), k.class, hours(held[k]), k.advice))
	}
	return lines
}

// firstOf names the first of them, and says how many more there are.
func firstOf(names []string) string {
	const most = 8
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// notes say what else is to be known: prices, what was reckoned, and nodes that fail.
func (r reportAnswer) notes() (lines []string) {
	lines = r.Verification.note()
	for _, p := range r.Prices {
		switch {
		case p.USDPerHour == 0:
			lines = append(lines, fmt.Sprintf("the price of %s is not known: --price %s=DOLLARS gives it", p.InstanceType, p.InstanceType))
		case p.Date != "":
			lines = append(lines, fmt.Sprintf("%s at %s an hour: %s, %s", p.InstanceType, unitPrice(p.USDPerHour), p.Source, p.Date))
		}
	}
	if r.nameless {
		lines = append(lines, "of nodes without a known instance type in Slurm no price is known")
	}
	if r.Total.Estimated {
		lines = append(lines, "some times were reckoned that no log has: see `estimated` with -o json")
	}
	return append(lines, r.Nodes.notes()...)
}

// notes say which nodes fail more than others.
func (l reportLedger) notes() (lines []string) {
	for _, n := range l.Failed {
		if n.Worse {
			lines = append(lines, fmt.Sprintf("node %s fails more than others: %s in %s, where %s would be usual (probability %.2g): %s",
				n.Node, count.Of(n.Failures, "failure"), hours(n.NodeHours), figures(n.Expected), n.P, strings.Join(n.Reasons, "; ")))
		}
	}
	switch {
	case l.Failures == 0 && l.Unplaced == 0:
		lines = append(lines, "no node failed")
	case len(lines) == 0 && l.Needed == 0:
		lines = append(lines, fmt.Sprintf("nodes failed %s: too few times to tell whether one is worse than others", count.Of(l.Failures, "time")))
	case len(lines) == 0:
		lines = append(lines, fmt.Sprintf("nodes failed %s, none of them more often than chance explains: about %d failures of one node would be more", count.Of(l.Failures, "time"), l.Needed))
	}
	if l.Unplaced > 0 {
		lines = append(lines, fmt.Sprintf("%s ended with a lost node of which nothing says which it was", count.Of(l.Unplaced, "run")))
	}
	return lines
}
