package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

func storageSection(e *plan.Estimate) page.Section {
	s := page.Section{Table: page.Table{{"Storage", "what", "capacity", "throughput", "a month", "as of"}}}
	var from origins
	for _, f := range e.FileSystems {
		s.Add(fileSystemCells(f)...)
		from.add(f.Type.Title(), f.Source)
	}
	for _, v := range e.Price.Volumes {
		what := v.What
		if v.Count > 1 {
			what = fmt.Sprintf("%d × %s", v.Count, v.What)
		}
		s.Add("  "+v.Name, what, "", "", v.Month.Words(), v.Date)
		from.add("EBS", v.Source)
	}
	for _, o := range from {
		s.Lines = append(s.Lines, fmt.Sprintf("prices of %s: %s", strings.Join(o.kinds, ", "), o.source))
	}
	return s
}

// origins are where the prices of kinds of storage come from.
type origins []struct {
	source string
	kinds  []string
}

func (o *origins) add(kind, source string) {
	if source == "" {
		return
	}
	for i := range *o {
		if one := &(*o)[i]; one.source == source {
			if !slices.Contains(one.kinds, kind) {
				one.kinds = append(one.kinds, kind)
			}
			return
		}
	}
	*o = append(*o, struct {
		source string
		kinds  []string
	}{source, []string{kind}})
}

func fileSystemCells(f plan.FileSystem) []string {
	cells := []string{"  " + f.MountDir + " " + f.Name, f.What, unknownCell, unknownCell, f.Month.Words(), f.Date}
	if f.CapacityGiB > 0 {
		cells[2] = count.Thousands(float64(f.CapacityGiB)) + " GiB"
	}
	if f.ThroughputMBps > 0 {
		cells[3] = count.Thousands(f.ThroughputMBps) + " MB/s"
	}
	switch {
	case f.Reason != "" && len(f.Month.Missing) == 0:
		cells[4], cells[5] = "-", f.Reason
	case f.Reason != "":
		cells[5] = f.Reason
	case !f.Confirmed:
		cells[5] += ", not confirmed: look it up"
	}
	return cells
}

func keptSection(e *plan.Estimate) page.Section {
	t := page.Table{{"What goes where", "on", "holds", "S3"}}
	for _, k := range e.Kept {
		holds := k.Holds
		if k.Bytes > 0 {
			holds += ", " + decimal(k.Bytes, "B") + " for one of each model"
		}
		var links []string
		for _, url := range k.From {
			links = append(links, "filled from "+url)
		}
		for _, url := range k.To {
			links = append(links, "written on to "+url)
		}
		t.Add("  "+k.Path, strings.TrimSpace(k.FileSystem+" "+onWhat(k)), page.OrDash(holds), page.OrDash(strings.Join(links, ", ")))
	}
	return page.Section{Table: t}
}

// onWhat is what carries a directory; the table of storage describes file systems.
func onWhat(k plan.Kept) string {
	if k.FileSystem != "" {
		return ""
	}
	return k.On
}
