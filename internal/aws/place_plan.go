package aws

import (
	"fmt"
	"io"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

// Write writes what `up` is about to do, for people.
func (p *Plan) Write(w io.Writer) error {
	sections := []page.Section{
		{Table: page.Table{{fmt.Sprintf("Cluster %s in %s of account %s, as %s", p.Cluster, p.Region, p.Account, p.Caller)}}},
		fileChanges(p.Changes), accountChanges(p),
	}
	for _, s := range p.Stacks {
		sections = append(sections, stackSection(s))
	}
	sections = append(sections, hourSection(p), laterSection(p))
	for _, s := range sections {
		if len(s.Table)+len(s.Lines) == 0 {
			continue
		}
		if err := s.Write(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}

// fileChanges are the keys that differ from the cluster's.
func fileChanges(changes []plan.Change) page.Section {
	if len(changes) == 0 {
		return page.Section{}
	}
	t := page.Table{{"Changes of the file", "was", "is", "needs"}}
	for _, c := range changes {
		t.Add("  "+c.Path, page.OrDash(c.Old), page.OrDash(c.New), string(c.Need))
	}
	return page.Section{Table: t}
}

// accountChanges are those of Slurm's accounts, which the head node makes.
func accountChanges(p *Plan) page.Section {
	if len(p.Accounts) == 0 {
		return page.Section{}
	}
	t := page.Table{{"Slurm's accounts, users and QoS"}}
	for _, line := range p.Accounts {
		t.Add("  " + page.Printable(line))
	}
	s := page.Section{Table: t}
	if !p.New {
		s.Lines = []string{"What muster did not make stays, and so does what jobs have."}
	}
	return s
}

// stackSection lists the changes of a stack's resources. Free ones of a new stack are only
// counted.
func stackSection(s StackPlan) page.Section {
	head := "Stack " + s.Name + ": " + s.Action
	if s.Action == "keep" {
		head = "Stack " + s.Name + ": as it is"
	}
	if s.Why != "" {
		head += ", " + s.Why
	}
	t := page.Table{{head}}
	free := 0
	for _, c := range s.Changes {
		if s.Action == "create" && c.Billed == "" {
			free++
			continue
		}
		t.Add("  "+string(c.Action), resourceWords(c), changeWords(c))
	}
	if free > 0 {
		cost, self := "cost", "themselves"
		if free == 1 {
			cost, self = "costs", "itself"
		}
		t.Add("  "+string(cloudformation.Add), fmt.Sprintf("%s that %s nothing by %s", count.Of(free, "resource"), cost, self), "")
	}
	return page.Section{Table: t}
}

func resourceWords(c ResourceChange) string {
	what := c.What
	if what == "" {
		what = c.Type
	}
	for _, name := range []string{c.Name, c.ID} {
		if name != "" && !strings.Contains(what, name) {
			what += " " + name
		}
	}
	return what
}

// changeWords are what changes of a resource, or by what a new one costs.
func changeWords(c ResourceChange) string {
	switch {
	case len(c.Properties) > 0:
		return strings.Join(c.Properties, ", ")
	case c.Action == cloudformation.Remove && c.Keeps:
		return "stays in the account"
	case c.Action == cloudformation.Add && c.Billed != "":
		return "paid by " + c.Billed
	}
	return ""
}

// laterSection is what happens on the machines: another build of muster, and a test job.
func laterSection(p *Plan) page.Section {
	var s page.Section
	if p.Program != "" {
		s.Lines = append(s.Lines, fmt.Sprintf("The head node takes up muster %s: its agent and controller start again, jobs go on. Nodes that run keep theirs until they end.", p.Program))
	}
	if t := p.Trial; t != nil && !t.Static {
		price := "at a price that is not known"
		if t.Known {
			price = fmt.Sprintf("for $%.2f an hour", t.USDPerHour)
		}
		s.Lines = append(s.Lines, fmt.Sprintf("A test job starts %s of queue %s (%s), %s; they end when they have been idle for %s.",
			count.Of(t.Nodes, "node"), t.Queue, t.InstanceType, price, count.Of(t.IdleMinutes, "minute")))
	}
	s.Lines = append(s.Lines, p.Notes...)
	return s
}

// hourSection is what an hour costs.
func hourSection(p *Plan) page.Section {
	t := page.Table{{"Cost", "an hour"}}
	t.Add("  with the nodes that are always on", p.Always.Words())
	t.Add("  with all nodes", p.Full.Words())
	t.AlignRight(1)
	s := page.Section{Table: t}
	if missing := p.Full.Missing; len(missing) > 0 {
		s.Lines = append(s.Lines, "not counted, for the price is not known: "+strings.Join(missing, ", "))
	}
	if p.Region != p.PriceRegion {
		s.Lines = append(s.Lines, fmt.Sprintf("with the prices of %s: those of %s differ", p.PriceRegion, p.Region))
	}
	return s
}
