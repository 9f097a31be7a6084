package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

// writePlan writes an estimate for people.
func writePlan(w io.Writer, e *plan.Estimate) error {
	if err := page.Line(w, headline(e)); err != nil {
		return err
	}
	for _, s := range []page.Section{
		fleetSection(e), priceSection(e), costSection(e), burnInSection(e), modelSection(e), failureSection(e), checkpointSection(e), storageSection(e),
		keptSection(e), blockSection(e), madeSection(e), noteSection(e),
	} {
		if len(s.Table)+len(s.Lines) < 2 {
			continue
		}
		fmt.Fprintln(w)
		if err := s.Write(w); err != nil {
			return err
		}
	}
	return nil
}

func noteSection(e *plan.Estimate) page.Section {
	s := page.Section{Table: page.Table{{"Notes"}}}
	for _, n := range e.Notes {
		s.Lines = append(s.Lines, "- "+n)
	}
	return s
}

func headline(e *plan.Estimate) string {
	full := e.Fleet.Full
	text := fmt.Sprintf("%s: %s, %s", page.Printable(e.File), many(full.Nodes, "node"), many(full.GPUCount(), "GPU"))
	for _, g := range full.GPUs {
		if g.Accelerator {
			text += fmt.Sprintf(", %s %s", count.Thousands(float64(g.Count)), g.GPU)
		}
	}
	if e.RunHours > 0 {
		text += ", a run of " + duration(e.RunHours)
	}
	return text
}

// many is a number of things, as people write large ones.
func many(n int, noun string) string {
	return count.Thousands(float64(n)) + " " + count.Noun(n, noun)
}

// unknownCell is what a table shows for what the catalogue does not have.
const unknownCell = "?"

func fleetSection(e *plan.Estimate) page.Section {
	t := page.Table{{"Fleet", "nodes", "GPUs", "vCPUs", "memory", "EFA", "own disks"}}
	for _, q := range e.Fleet.Queues {
		t.Add(totalCells(q.Queue, q)...)
	}
	if len(e.Fleet.Queues) > 1 {
		t.Add(totalCells("all", e.Fleet.Full)...)
	}
	t.Add(totalCells("always on", e.Fleet.Least)...)
	for _, g := range e.Fleet.Groups {
		t.Add(nodeCells(g)...)
	}
	for _, s := range e.Fleet.Services {
		t.Add(serviceCells(s)...)
	}
	s := page.Section{Table: t}
	if slices.ContainsFunc(t, func(row []string) bool { return slices.Contains(row, unknownCell) }) {
		s.Lines = []string{unknownCell + " is not in the catalogue"}
	}
	return s
}

func serviceCells(s plan.Service) []string {
	name := "  " + s.Name + ", " + s.InstanceType
	if s.Count > 1 {
		name = fmt.Sprintf("  one of %d %s, %s", s.Count, s.Name, s.InstanceType)
	}
	return []string{name, "1", "-", count.Thousands(float64(s.VCPUs)), binary(float64(s.MemoryMiB)), "-", diskCell(s.ScratchGB, s.DisksKnown)}
}

// diskCell is a machine's own disks.
func diskCell(gb int, known bool) string {
	switch {
	case !known:
		return unknownCell
	case gb == 0:
		return "-"
	}
	return decimal(float64(gb)*1e9, "B")
}

func totalCells(name string, t plan.Total) []string {
	cells := []string{"  " + name, count.Thousands(float64(t.Nodes)), gpuTotals(t.GPUs), count.Thousands(float64(t.VCPUs)), memoryTotal(t.MemoryMiB), "-", "-"}
	if t.EFAGbps > 0 {
		cells[5] = gbps(t.EFAGbps)
	}
	if t.ScratchGB > 0 {
		cells[6] = decimal(float64(t.ScratchGB)*1e9, "B")
	}
	if t.EFAIncomplete {
		cells[5] = atLeast(cells[5])
	}
	if t.ScratchIncomplete {
		cells[6] = atLeast(cells[6])
	}
	return cells
}

// atLeast is a sum of which a part is not known.
func atLeast(cell string) string {
	if cell == "-" {
		return unknownCell
	}
	return "at least " + cell
}

func gpuTotals(list []plan.GPUTotal) string {
	if len(list) == 0 {
		return "0"
	}
	var parts []string
	for _, g := range list {
		text := count.Thousands(float64(g.Count)) + " " + g.GPU
		if g.MemoryMiB > 0 {
			text += ", " + binary(float64(g.MemoryMiB))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " + ")
}

// memoryTotal is a sum in both units: what EC2 calls 2 TiB, people call 2 TB.
func memoryTotal(mib int64) string {
	if mib == 0 {
		return "0"
	}
	return fmt.Sprintf("%s (%s)", binary(float64(mib)), decimal(float64(mib)*(1<<20), "B"))
}

func nodeCells(g plan.Group) []string {
	n := g.Node
	cells := []string{
		"  a node of " + g.Name + ", " + strings.Join(g.InstanceTypes, " or "), "1", "-", count.Thousands(float64(n.VCPUs)),
		binary(float64(n.MemoryMiB)), "off", diskCell(n.ScratchGB, n.DisksKnown),
	}
	if n.GPUs > 0 {
		cells[2] = fmt.Sprintf("%d %s", n.GPUs, n.GPU)
		if n.GPUMemoryMiB > 0 {
			cells[2] += " of " + binary(float64(n.GPUMemoryMiB))
		}
	}
	switch {
	case n.EFAGbps > 0:
		cells[5] = gbps(n.EFAGbps)
	case !n.EFAKnown():
		cells[5] = unknownCell
	case n.EFAInterfaces == 0:
		cells[5] = "-"
	}
	return cells
}

func priceSection(e *plan.Estimate) page.Section {
	t := page.Table{{"Prices", "bought", "an hour", "as of", ""}}
	for _, p := range e.Price.Types {
		price, why := "unknown", p.Reason
		if p.Known {
			price, why = unitPrice(p.USDPerHour), p.Source
		}
		t.Add("  "+p.InstanceType, p.Purchase, price, page.OrDash(p.Date), why)
	}
	return page.Section{Table: t}
}

func costSection(e *plan.Estimate) page.Section {
	head := []string{"Cost", "an hour", "a day"}
	if e.RunHours > 0 {
		head = append(head, "the run")
	}
	t := page.Table{head}
	add := func(name string, s plan.Spend) {
		cells := []string{"  " + name, s.Hour.Words(), s.Day.Words()}
		if s.Run != nil {
			cells = append(cells, s.Run.Words())
		}
		t.Add(cells...)
	}
	p := e.Price
	add(many(e.Fleet.Full.Nodes, "compute node"), p.Nodes)
	add("head node and login nodes", p.Services)
	add("storage", p.Storage)
	add("together", p.All)
	add(many(e.Fleet.Least.Nodes, "compute node")+" always on", p.LeastNodes)
	add("together with no more on", p.LeastAll)
	t.AlignRight(1)
	return page.Section{Table: t, Lines: costLines(e)}
}

// costLines say what the sums are made of, and what they lack.
func costLines(e *plan.Estimate) []string {
	var lines []string
	if missing := e.Price.All.Hour.Missing; len(missing) > 0 {
		lines = append(lines, "not counted, for the price is not known: "+strings.Join(missing, ", "))
	}
	instances := cmp.Or(e.Price.InstanceRegion, e.Price.Region)
	switch {
	case e.Region == "" || e.Region == e.Price.Region && e.Region == instances:
	case e.Region == instances:
		lines = append(lines, fmt.Sprintf("storage has the prices of %s: those of %s differ", e.Price.Region, e.Region))
	default:
		lines = append(lines, fmt.Sprintf("with the prices of %s where --price gives none: those of %s differ", instances, e.Region))
	}
	if slices.ContainsFunc(e.FileSystems, func(f plan.FileSystem) bool { return f.Month.USD > 0 && !f.Confirmed }) {
		lines = append(lines, "storage has prices that are not confirmed: see below")
	}
	for _, b := range e.Blocks {
		if paid := 24 * float64(b.Days()); paid > e.RunHours {
			line := fmt.Sprintf("Capacity Blocks of %s are paid whole, %s for a run of %s", b.Queue, duration(paid), duration(e.RunHours))
			if b.Beyond != nil {
				line += ": " + b.Beyond.Words() + " more than the run costs here"
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func blockSection(e *plan.Estimate) page.Section {
	t := page.Table{{"Capacity Blocks", "instances", "blocks", "length", "usable", "paid in advance", ""}}
	for _, b := range e.Blocks {
		length, usable, upfront := unknownCell, unknownCell, "unknown"
		if len(b.LengthsDays) > 0 {
			length, usable = plus(b.LengthsDays)+" days", count.Thousands(b.UsableHours)+" h"
			if b.Days() == 1 {
				length = "1 day"
			}
			if b.UsableHours != float64(int(b.UsableHours)) {
				usable = fmt.Sprintf("%.1f h", b.UsableHours)
			}
		}
		if b.Upfront != nil {
			upfront = b.Upfront.Words()
		}
		t.Add("  "+b.Queue, fmt.Sprintf("%d × %s", b.Instances, b.InstanceType), plus(b.Sizes), length, usable, upfront,
			fmt.Sprintf("at most %d each, up to %d weeks ahead", catalog.BlockInstances, catalog.BlockWeeksAhead))
	}
	return page.Section{Table: t}
}

// plus is numbers as a sum: 64 + 16.
func plus(list []int) string {
	var words []string
	for _, n := range list {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, " + ")
}

func madeSection(e *plan.Estimate) page.Section {
	t := page.Table{{"Made besides", "", "on aws", "on local"}}
	for _, m := range e.Made {
		t.Add("  "+m.Kind, m.Name, m.What, m.Local)
	}
	return page.Section{Table: t}
}
