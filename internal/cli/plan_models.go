package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

func modelSection(e *plan.Estimate) page.Section {
	t := page.Table{{"Models", "nodes", "GPUs", "parameters", "interruptions", "one in", "where"}}
	for _, m := range e.Models {
		size, often, each, where := "?", "?", "?", page.OrDash(m.NodeList)
		if m.Parameters > 0 {
			size = parameters(m.Parameters)
		}
		if m.MTBFHours > 0 {
			each = seconds(3600 * m.MTBFHours)
			if e.RunHours > 0 {
				often = rough(m.Expected)
			}
		}
		nodes := strconv.Itoa(m.Nodes)
		if m.Part {
			nodes = "part of 1"
			where += fmt.Sprintf(", GPUs %d-%d", m.FirstGPU, m.FirstGPU+m.GPUs-1)
		}
		if m.Nodes == 0 {
			nodes = "?"
		}
		t.Add("  "+m.Name, nodes, count.Thousands(float64(m.GPUs)), size, often, each, where)
	}
	var lines []string
	if len(e.Models) > 0 {
		for _, left := range e.Spare {
			lines = append(lines, leftLine(left, e.Spare))
		}
	}
	return page.Section{Table: t, Lines: lines}
}

// spareName is a queue, with the instance types where nodes of several kinds are left over.
func spareName(s plan.Spare, all []plan.Spare) string {
	if slices.ContainsFunc(all, func(o plan.Spare) bool { return o.Queue == s.Queue && !slices.Equal(o.InstanceTypes, s.InstanceTypes) }) {
		return s.Queue + ", " + strings.Join(s.InstanceTypes, " or ")
	}
	return s.Queue
}

// leftLine names the nodes of a queue that no model takes.
func leftLine(s plan.Spare, all []plan.Spare) string {
	line := fmt.Sprintf("left over of %s: %s", spareName(s, all), count.Of(s.Nodes, "node"))
	if s.NodeList != "" {
		line += ", " + s.NodeList
	}
	if s.PartGPUs > 0 {
		line += fmt.Sprintf(", and %s on shared nodes", count.Of(s.PartGPUs, "GPU"))
	}
	return line
}

// parameters is the size of a model: 70 B.
func parameters(n float64) string {
	if n >= 999.5e9 {
		return figures(n/1e12) + "T"
	}
	switch {
	case n >= 1e9:
		return figures(n/1e9) + "B"
	case n >= 1e6:
		return figures(n/1e6) + "M"
	}
	return count.Thousands(n)
}

func checkpointSection(e *plan.Estimate) page.Section {
	t := page.Table{{"Checkpoints", "size", "bytes a parameter", "weights", "where", "written in", "every", "goodput", "no spare", "lost to failures"}}
	for _, m := range e.Models {
		if m.Checkpoint != nil {
			t.Add(checkpointCells(m, e.RunHours)...)
		}
	}
	var lines []string
	for _, f := range e.FileSystems {
		if f.Use != nil {
			lines = append(lines, keptLine(f))
		}
	}
	if slices.ContainsFunc(e.Models, func(m plan.Trained) bool { return m.Checkpoint != nil && m.Checkpoint.Goodput > 0 }) {
		lines = append(lines, fmt.Sprintf("goodput and what is lost are with a spare node at hand; with no spare, each interruption also waits %g h for a node",
			e.Failures.ReplacementHours))
	}
	return page.Section{Table: t, Lines: lines}
}

func checkpointCells(m plan.Trained, runHours float64) []string {
	c := m.Checkpoint
	cells := []string{"  " + m.Name, decimal(c.Bytes, "B"), figures(c.BytesPerParameter), "?", page.OrDash(c.Dir), "?", "?", "?", "?", "?"}
	if c.WeightBytes > 0 {
		cells[3] = decimal(c.WeightBytes, "B")
	}
	if c.WriteSeconds > 0 {
		cells[5] = seconds(c.WriteSeconds)
	}
	if c.IntervalSeconds > 0 {
		cells[6] = fmt.Sprintf("%s (%s)", seconds(c.IntervalSeconds), c.Formula)
		cells[7], cells[8] = percent(c.Goodput), percent(c.GoodputWithoutSpare)
		if runHours > 0 {
			cells[9] = seconds(3600 * c.LostHours)
		}
	}
	return cells
}

// percent is a part of the time; no estimate is all of it.
func percent(part float64) string {
	if part >= 0.9995 {
		return "> 99.9 %"
	}
	return fmt.Sprintf("%.1f %%", 100*part)
}

// keptLine says how much of a file system the checkpoints of all models take.
func keptLine(f plan.FileSystem) string {
	u := f.Use
	line := fmt.Sprintf("%s: one of each is %s", f.MountDir, decimal(u.OneBytes, "B"))
	if u.WriteSeconds > 0 {
		line += ", written in " + seconds(u.WriteSeconds) + " if all write at once"
	}
	line += "; all that are kept are " + decimal(u.KeptBytes, "B")
	switch {
	case u.Fits < 0:
	case u.WantedGiB > 0:
		line += fmt.Sprintf(", which is too much: %d of each fit", u.Fits)
	default:
		line += fmt.Sprintf("; %d of each fit", u.Fits)
	}
	return line
}

func failureSection(e *plan.Estimate) page.Section {
	f := e.Failures
	s := page.Section{Table: page.Table{{"Failures"}}}
	if f.GPUs == 0 {
		return s
	}
	line := fmt.Sprintf("%s: one interruption in %s", many(f.GPUs, "GPU"), seconds(3600*f.MTBFHours))
	if e.RunHours > 0 {
		line += fmt.Sprintf(", %s expected in %s", rough(f.Expected), duration(e.RunHours))
	}
	s.Lines = []string{
		line,
		fmt.Sprintf("%.2fe-5 interruptions for each GPU and hour: %s", 1e5*f.PerGPUHour, f.Source),
		fmt.Sprintf("reckoned with %g min until a job computes again, and %g h until a failed node is replaced (Run of muster.yaml)", f.RestartMinutes, f.ReplacementHours),
	}
	for _, q := range e.Spare {
		if q.Rated {
			s.Lines = append(s.Lines, fmt.Sprintf("spares for %s: %d (at any one moment %s being replaced, with %.0f %% or more); left over: %d",
				spareName(q, e.Spare), q.Wanted, atMost(q.Wanted), 100*f.Confidence, q.Nodes))
		}
	}
	return s
}

func atMost(n int) string {
	switch n {
	case 0:
		return "no node is"
	case 1:
		return "no more than 1 node is"
	}
	return fmt.Sprintf("no more than %d nodes are", n)
}

// write writes the ranks, or the path between two, for people.
func (a ranksAnswer) write(w io.Writer) error {
	if p := a.Path; p != nil {
		t := page.Table{{"rank", "node", "local rank", "GPU"}}
		for _, r := range []plan.Rank{p.From, p.To} {
			t.Add(strconv.Itoa(r.Rank), r.Node, strconv.Itoa(r.LocalRank), strconv.Itoa(r.GPU))
		}
		if err := t.Write(w); err != nil {
			return err
		}
		if err := page.Line(w, p.What); err != nil || p.Source == "" {
			return err
		}
		return page.Line(w, "source: "+p.Source)
	}
	t := page.Table{{"model", "rank", "node", "local rank", "GPU"}}
	for _, m := range a.Models {
		for _, r := range m.Ranks {
			t.Add(m.Model, strconv.Itoa(r.Rank), r.Node, strconv.Itoa(r.LocalRank), strconv.Itoa(r.GPU))
		}
	}
	if err := t.Write(w); err != nil {
		return err
	}
	return page.Line(w, ranksHold)
}

// ranksHold says for which launchers the order of ranks is that of nodes.
// PyTorch's c10d rendezvous sorts nodes by host name and process.
const ranksHold = "This holds for srun with a task for each GPU, and for torchrun with --node-rank; torchrun's c10d rendezvous has an order of its own."
