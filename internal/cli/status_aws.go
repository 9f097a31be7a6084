package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/count"
	"github.com/muster-hpc/muster/internal/fault"
	"github.com/muster-hpc/muster/internal/page"
)

// awsClusters are the clusters on AWS: those that this machine knows of, and those
// that the region of the environment has. Where nobody set up credentials there are
// none, unless AWS was asked for.
func (a *app) awsClusters(ctx context.Context, place string) ([]aws.Record, error) {
	home, err := homeDir()
	if err != nil || place == onLocal {
		return nil, err
	}
	records, err := aws.Records(home)
	if err != nil {
		return nil, err
	}
	found := map[string]aws.Record{}
	for _, r := range records {
		found[r.Name] = r
	}
	if place == onAWS || api.Configured() {
		here, err := aws.InRegion(ctx)
		if err != nil && place == onAWS && len(records) == 0 {
			return nil, err
		}
		for _, r := range here {
			if _, ok := found[r.Name]; !ok {
				found[r.Name] = r
			}
		}
	}
	maps.DeleteFunc(found, func(name string, _ aws.Record) bool { return a.asked() != "" && name != a.asked() })
	return slices.SortedFunc(maps.Values(found), byName), nil
}

func byName(x, y aws.Record) int { return strings.Compare(x.Name, y.Name) }

// addAWS adds to the table what there is of a cluster on AWS.
func addAWS(t *page.Table, c *aws.Status) {
	where := "AWS, " + c.Region
	if c.Account != "" {
		where += ", account " + c.Account
	}
	t.Add("  place", where)
	if c.Adopted != nil {
		t.Add("  made by", "ParallelCluster "+c.Adopted.Version)
	}
	var stacks, events, instances []string
	for _, x := range c.Stacks {
		stacks = append(stacks, strings.TrimSuffix(fmt.Sprintf("%s %s: %s", x.Name, stackWords(x.Status), x.Reason), ": "))
	}
	for _, e := range c.Events {
		name := e.Resource
		if name == "" {
			name = "stack " + e.Stack
		}
		events = append(events, strings.TrimSuffix(fmt.Sprintf("%s %s (%s) %s: %s", e.At.Local().Format(time.TimeOnly), name, e.Type, stackWords(e.Status), e.Reason), ": "))
	}
	for _, g := range c.Instances {
		instances = append(instances, instanceWords(g))
	}
	addList(t, "  stacks", stacks)
	addList(t, "  events", events)
	addHead(t, c)
	addList(t, "  instances", instances)
	if len(c.Instances) > 0 {
		t.Add("  cost", fmt.Sprintf("$%.2f an hour for instances, at the prices on demand of us-east-1", c.USDPerHour))
	}
}

// stackWords is a state of CloudFormation in small letters.
func stackWords(status string) string {
	return strings.ToLower(strings.ReplaceAll(status, "_", " "))
}

func instanceWords(g aws.InstanceGroup) string {
	who := g.Role
	if g.Queue != "" {
		who += " of " + g.Queue
	}
	if who == "" {
		who = "of no role"
	}
	text := fmt.Sprintf("%d %s %s, %s", g.Count, g.InstanceType, g.State, who)
	switch {
	case !g.Known:
		text += ", price unknown"
	case g.USDPerHour > 0:
		text += fmt.Sprintf(", $%.2f an hour", g.USDPerHour)
	}
	return text
}

// addHead adds what the head node said last.
func addHead(t *page.Table, c *aws.Status) {
	h := c.Head
	if h == nil {
		if adopted := c.Adopted; adopted != nil && adopted.Head != "" {
			t.Add("  head node", adopted.Head+", where `muster nodes` and `muster job list` look")
		}
		return
	}
	t.Add("  head node", fmt.Sprintf("%s %s, muster %s, heard %s ago", h.InstanceID, h.Phase, h.Version, count.Span(time.Duration(c.HeadAgeSeconds*float64(time.Second)))))
	if h.Phase == "booting" && len(h.Steps) > 0 {
		last := h.Steps[len(h.Steps)-1]
		t.Add("", "boot: "+strings.TrimSuffix(last.Name+": "+last.Detail, ": "))
	}
	for _, line := range h.LogTail {
		if h.Phase == "failed" {
			t.Add("", line)
		}
	}
	if c := h.Cluster; c != nil {
		t.Add("  fleet", c.Fleet)
		t.Add("  nodes", countsWords(c.Nodes))
		t.Add("  jobs", countsWords(c.Jobs))
	}
}

func countsWords(counts map[string]int) string {
	var parts []string
	for _, state := range sortedKeys(counts) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[state], strings.ToLower(state)))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// noSuchCluster is what to say where neither this machine nor AWS has a cluster.
func (a *app) noSuchCluster(place string) error {
	if place == onAWS {
		return fault.Coded(fault.CodeUnknown, "there is no cluster %s on AWS that this machine knows of, nor in the region of the environment; AWS_REGION chooses another one", a.asked())
	}
	home, err := homeDir()
	if err != nil {
		return err
	}
	return noCluster(home, a.asked())
}
