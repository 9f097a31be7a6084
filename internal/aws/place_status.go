package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

// Show adds to a table what there is of the cluster.
func (c *Status) Show(t *page.Table) {
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
		stacks = append(stacks, strings.TrimSuffix(fmt.Sprintf("%s %s: %s", x.Name, inSmall(x.Status), x.Reason), ": "))
	}
	for _, e := range c.Events {
		name := e.Resource
		if name == "" {
			name = "stack " + e.Stack
		}
		events = append(events, strings.TrimSuffix(fmt.Sprintf("%s %s (%s) %s: %s", e.At.Local().Format(time.TimeOnly), name, e.Type, inSmall(e.Status), e.Reason), ": "))
	}
	for _, g := range c.Instances {
		instances = append(instances, instanceWords(g))
	}
	t.AddList("  stacks", stacks)
	t.AddList("  events", events)
	c.showHead(t)
	t.AddList("  exports", c.exportLines(time.Now()))
	t.AddList("  instances", instances)
	if len(c.Instances) > 0 {
		t.Add("  cost", fmt.Sprintf("$%.2f an hour for instances, at the prices on demand of us-east-1", c.USDPerHour))
	}
}

func instanceWords(g InstanceGroup) string {
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

// showHead adds what the head node said last.
func (c *Status) showHead(t *page.Table) {
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
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[state], strings.ToLower(state)))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// exportLines say how far the head node's exports are, as far as it said so.
func (c *Status) exportLines(now time.Time) []string {
	if c.Head == nil || c.Head.Cluster == nil {
		return nil
	}
	var lines []string
	for _, e := range c.Head.Cluster.Exports {
		line := fmt.Sprintf("%s: %d waiting", titleOf(e), e.Pending)
		if e.PendingBytes > 0 {
			line += fmt.Sprintf(" (%s)", count.Bytes(e.PendingBytes))
		}
		if e.Unknown {
			line += ", maybe more"
		}
		if behind := now.Sub(e.WaitsSince); !e.WaitsSince.IsZero() && behind >= time.Minute {
			line += ", the oldest for " + count.Span(behind)
		}
		lines = append(lines, fmt.Sprintf("%s, %d exported", line, e.Exported))
	}
	return lines
}

func titleOf(e manifest.Exported) string {
	return fmt.Sprintf("%s -> s3://%s/%s", e.Path, e.Bucket, e.Prefix)
}

// troubleOf is what of an export needs a look.
func troubleOf(e manifest.Exported) []string {
	var lines []string
	if e.Error != "" {
		lines = append(lines, titleOf(e)+": "+e.Error)
	}
	if e.Blocked > 0 {
		lines = append(lines, fmt.Sprintf("%s: %s cannot be exported, such as %s", titleOf(e), count.Of(e.Blocked, "file"), e.First))
	}
	return lines
}
