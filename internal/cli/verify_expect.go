package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify/expect"
)

// expected is `muster verify --expect` for programs.
type expected struct {
	// Schema is 1.
	Schema int          `json:"schema"`
	Rows   []expect.Row `json:"expectations"`
}

// verifyExpect says what the suites will expect of each machine of a cluster's file. It needs no cluster.
func (a *app) verifyExpect(suites, want []string) error {
	override, err := overrides(want)
	if err != nil {
		return err
	}
	c, w, err := a.clusterFor("")
	if err != nil {
		return err
	}
	nodes := expect.Table(c, w, override)
	for i := range nodes {
		nodes[i].Nodes = hostsNamed(c, nodes[i].Name)
		nodes[i].All = slices.DeleteFunc(nodes[i].All, func(e expect.Expectation) bool { return !slices.Contains(suites, e.Suite) })
	}
	return a.answer(expected{Schema: 1, Rows: expect.Rows(nodes)}, func() error { return a.showExpected(nodes) })
}

// expectOf are the suites among what --expect was given: a cluster file among them is the one that it is about, as with --cluster.
func (a *app) expectOf(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		file := slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(arg))
		if file {
			a.cluster = arg
		}
		return file
	})
}

// hostsNamed are the nodes of queue/resource, as a host list; empty for a machine that is no node.
func hostsNamed(c *spec.Cluster, name string) string {
	var names []string
	for _, g := range plan.Groups(c, nil) {
		if g.Resource.String() == name {
			names = append(names, g.Names()...)
		}
	}
	return slurm.Compress(names)
}

// overrides are what a user expects instead. A name that nothing reads is a wrong command line.
func overrides(want []string) ([]expect.Override, error) {
	var all []expect.Override
	for _, text := range want {
		o, known, err := expect.ParseOverride(text)
		if err != nil {
			return nil, fault.Usage(fmt.Errorf("--want: %w", err))
		}
		if !known {
			return nil, fault.Usage(fmt.Errorf("--want %s: %w", text, noneOf("expectation", o.Check, expect.Checks())))
		}
		all = append(all, o)
	}
	return all, nil
}

// showExpected has a table for each kind of machine; what is not expected of it comes last, with the reason.
func (a *app) showExpected(nodes []expect.Node) error {
	for i, n := range nodes {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		title := fmt.Sprintf("%s: %s", n.Name, n.InstanceType)
		if n.Role == expect.Compute {
			title += ", up to " + count.Of(n.Count, "node")
		}
		if err := page.Line(a.out, title); err != nil {
			return err
		}
		if n.Nodes != "" {
			if err := page.Line(a.out, "  "+n.Nodes); err != nil {
				return err
			}
		}
		t := page.Table{{"SUITE", "CHECK", "WANT", "SOURCE"}}
		addExpected(&t, expect.Rows([]expect.Node{n}))
		if err := t.Write(a.out); err != nil {
			return err
		}
	}
	return nil
}

// skipped are checks of a suite that do not apply, for one reason.
type skipped struct{ suite, why string }

// addExpected adds what is expected, and then how many checks do not apply, by their reasons.
func addExpected(t *page.Table, rows []expect.Row) {
	var reasons []skipped
	checks := map[skipped][]string{}
	for _, r := range rows {
		check := strings.TrimSpace(r.Check + " " + r.On)
		if r.Skip == "" {
			t.Add(r.Suite, check, r.Want, r.Source)
			continue
		}
		s := skipped{r.Suite, r.Skip}
		if checks[s] == nil {
			reasons = append(reasons, s)
		}
		checks[s] = append(checks[s], check)
	}
	for _, s := range reasons {
		name := checks[s][0]
		if more := len(checks[s]) - 1; more > 0 {
			name += fmt.Sprintf(" and %d more", more)
		}
		t.Add(s.suite, name, "skipped", s.why)
	}
}
