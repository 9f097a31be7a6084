package meter

import (
	"fmt"
	"strings"
)

// Collective is what a program of nccl-tests measured, or one that prints the same table.
type Collective struct {
	// Name is such as "all_reduce", empty where the output does not say it: tables of before June 2025.
	Name string `json:"name,omitempty"`
	// NCCL is the version of NCCL that was loaded as its number, such as 22903 for 2.29.3, 0 where it is not said.
	NCCL int `json:"nccl,omitempty"`
	// Ranks is how many ranks took part, 0 where that is not said.
	Ranks   int      `json:"ranks,omitempty"`
	Devices []Device `json:"devices,omitempty"`
	Rows    []Row    `json:"rows"`
	// OutOfBounds is how many values were wrong in all, nil where that is not said.
	OutOfBounds *int64 `json:"out_of_bounds,omitempty"`
	// AvgBusGBps is the mean of the bus bandwidths of all rows, as the program says it, in GB/s. It depends on which sizes were
	// measured; 0 where it is not said.
	AvgBusGBps float64 `json:"avg_bus_gbps,omitempty"`
	Reading
}

// Device is one rank's device.
type Device struct {
	Rank int `json:"rank"`
	// Group is the communicator, 0 unless ranks were split, or where it is not said.
	Group int    `json:"group,omitempty"`
	PID   int    `json:"pid"`
	Host  string `json:"host"`
	// Index is the device's on its host, Bus its address on PCI, such as "0000:53:00".
	Index int    `json:"index"`
	Bus   string `json:"bus,omitempty"`
	Name  string `json:"name"`
}

// Row is what was measured of messages of one size.
type Row struct {
	Bytes int64  `json:"bytes"`
	Count int64  `json:"count"` // elements
	Type  string `json:"type"`
	// RedOp is the operation of a reduction, "none" or empty for others. Root is -1 where there is none.
	RedOp string `json:"redop,omitempty"`
	Root  int    `json:"root"`
	// OutOfPlace and InPlace are nil where they were not measured or could not be read.
	OutOfPlace *Measure `json:"out_of_place,omitempty"`
	InPlace    *Measure `json:"in_place,omitempty"`
}

// Measure is one measurement of a row. Bandwidths are in 10^9 bytes each second; the bus bandwidth is the algorithm's, times a factor
// that makes it comparable with the hardware's: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
type Measure struct {
	TimeUs  float64 `json:"time_us"`
	AlgGBps float64 `json:"alg_gbps"`
	BusGBps float64 `json:"bus_gbps"`
	// Wrong is how many values were wrong, nil where that was not checked, and in tables before nccl-tests 2.13, which have
	// the largest Deviation instead.
	Wrong     *int64   `json:"wrong,omitempty"`
	Deviation *float64 `json:"deviation,omitempty"`
}

// Table is a measurement as nccl-tests 2.17 writes it, which ReadCollective reads again.
func Table(c Collective) string {
	var b strings.Builder
	if c.NCCL > 0 {
		fmt.Fprintf(&b, "# nccl-tests version 2.17 nccl-headers=%d nccl-library=%d\n", c.NCCL, c.NCCL)
	}
	if c.Name != "" {
		fmt.Fprintf(&b, "# Collective test starting: %s_perf\n", c.Name)
	}
	b.WriteString("# Using devices\n")
	for _, d := range c.Devices {
		fmt.Fprintf(&b, "#  Rank %2d Group %2d Pid %6d on %10s device %2d [%s] %s\n", d.Rank, d.Group, d.PID, d.Host, d.Index, d.Bus, d.Name)
	}
	b.WriteString("#\n")
	fmt.Fprintf(&b, "# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place          \n", "", "", "", "", "")
	b.WriteString(heads([]string{"size", "count", "type", "redop", "root"}, []string{"time", "algbw", "busbw", "#wrong"}))
	b.WriteString(heads([]string{"(B)", "(elements)", "", "", ""}, []string{"(us)", "(GB/s)", "(GB/s)", ""}))
	for _, r := range c.Rows {
		b.WriteString(tableRow(r))
	}
	tableEnd(&b, c)
	return b.String()
}

func heads(row, measure []string) string {
	out := fmt.Sprintf("# %10s  %12s  %8s  %6s  %6s", row[0], row[1], row[2], row[3], row[4])
	for range 2 {
		out += fmt.Sprintf("  %7s  %6s  %6s  %6s", measure[0], measure[1], measure[2], measure[3])
	}
	return out + " \n"
}

func tableRow(r Row) string {
	redop := r.RedOp
	if redop == "" {
		redop = "none"
	}
	return fmt.Sprintf("%12d  %12d  %8s  %6s  %6d%s%s\n", r.Bytes, r.Count, r.Type, redop, r.Root, r.OutOfPlace.table(), r.InPlace.table())
}

// table is the measure's part of a row: blank where there is none.
func (m *Measure) table() string {
	if m == nil {
		return fmt.Sprintf("%33s", "")
	}
	wrong := "   N/A"
	if m.Wrong != nil {
		wrong = fmt.Sprintf("%6.6g", float64(*m.Wrong))
	}
	return fmt.Sprintf("  %s  %s  %s  %s", fit(m.TimeUs, 7), fit(m.AlgGBps, 6), fit(m.BusGBps, 6), wrong)
}

// fit writes a number with as many digits behind the point as a column has room for.
func fit(value float64, width int) string {
	for digits := 2; digits >= 0; digits-- {
		if s := fmt.Sprintf("%*.*f", width, digits, value); len(s) <= width {
			return s
		}
	}
	return fmt.Sprintf("%*.0e", width, value)
}

func tableEnd(b *strings.Builder, c Collective) {
	if c.OutOfBounds != nil {
		said := "OK"
		if *c.OutOfBounds > 0 {
			said = "FAILED"
		}
		fmt.Fprintf(b, "# %-20s : %d %s\n", "Out of bounds values", *c.OutOfBounds, said)
	}
	fmt.Fprintf(b, "# %-20s : %.6g \n#\n", "Avg bus bandwidth", c.AvgBusGBps)
	if c.Name != "" {
		fmt.Fprintf(b, "# Collective test concluded: %s_perf\n#\n", c.Name)
	}
}
