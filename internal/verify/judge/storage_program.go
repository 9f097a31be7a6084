package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// StorageSum is what a program measured on all nodes together.
type StorageSum struct {
	// By is the program and its version.
	By string
	// WriteGBps and ReadGBps are in units of 10^9 bytes a second, 0 where it did not measure them.
	WriteGBps, ReadGBps float64
	// Blind is why reading says nothing about the file system, empty if it does.
	Blind string
	// Meta is nil where it did not measure operations on files.
	Meta *meter.MetadataRates
}

// SumOfIOR is what IOR found with so many tasks on so many nodes, or why that is no measurement.
func SumOfIOR(o meter.IOR, tasks, nodes int, direct bool) (StorageSum, error) {
	sum := StorageSum{By: strings.TrimSpace("IOR " + o.Version)}
	if err := together(o.Reading, o.Tasks, tasks); err != nil {
		return sum, err
	}
	for _, s := range o.Summary {
		switch gbps := s.MeanMiBps * (1 << 20) / 1e9; s.Op {
		case "write":
			sum.WriteGBps = gbps
		case "read":
			sum.ReadGBps = gbps
		}
	}
	if sum.WriteGBps <= 0 || sum.ReadGBps <= 0 {
		return sum, fmt.Errorf("IOR tells no rate of writing, or none of reading")
	}
	if !direct && nodes < 2 {
		sum.Blind = "what one node reads is what it has just written, and lies in its memory"
	}
	return sum, nil
}

// SumOfMdtest is what mdtest found, or why that is no measurement.
func SumOfMdtest(m meter.Mdtest, tasks int) (StorageSum, error) {
	sum := StorageSum{By: strings.TrimSpace("mdtest " + m.Version), Meta: &meter.MetadataRates{}}
	if err := together(m.Reading, m.Tasks, tasks); err != nil {
		return sum, err
	}
	for _, r := range m.Rates {
		switch r.Op {
		case "File creation":
			sum.Meta.Create = r.Mean
		case "File stat":
			sum.Meta.Stat = r.Mean
		case "File removal":
			sum.Meta.Remove = r.Mean
		}
	}
	if sum.Meta.Create <= 0 || sum.Meta.Stat <= 0 || sum.Meta.Remove <= 0 {
		return sum, fmt.Errorf("mdtest tells not all rates")
	}
	return sum, nil
}

// together holds that all tasks of a step of MPI were one program.
func together(r meter.Reading, are, want int) error {
	if are > 0 && are != want {
		return fmt.Errorf("%s, and each found %d: its MPI does not hear of the others by PMIx", count.Of(want, "task")+" were started", are)
	}
	if !r.Whole {
		return fmt.Errorf("%s", strings.Join(r.Problems, "; "))
	}
	return nil
}

// sum is what a program told of a rate that is judged.
func (s StorageSeen) sum(check string) (StorageSum, bool) {
	for _, sum := range s.Sums {
		if sum.WriteGBps > 0 && check == "storage-write" || sum.ReadGBps > 0 && check == "storage-read" {
			return sum, true
		}
	}
	return StorageSum{}, false
}

// summed judges a rate that all nodes came to together.
func (s StorageSeen) summed(kind rateOf, sum StorageSum) verify.Result {
	gbps, blind := sum.WriteGBps, ""
	if kind.check == "storage-read" {
		gbps, blind = sum.ReadGBps, sum.Blind
	}
	return s.held(kind, gbps, blind, fmt.Sprintf("from %s by %s%s", count.Of(len(s.Nodes), "node"), sum.By, s.where()))
}

// by names what measured, if it is not muster, and the slowest of several nodes.
func (s StorageSeen) by(nodes []nodeRate) string {
	var programs []string
	for _, t := range s.Tasks {
		if (t.Write != nil || t.Read != nil) && t.By != "" && t.By != "muster" && !slices.Contains(programs, t.By) {
			programs = append(programs, t.By)
		}
	}
	if len(programs) == 0 {
		return ""
	}
	slices.Sort(programs)
	said := " by " + strings.Join(programs, " and ")
	if len(nodes) > 1 {
		slowest := slices.MinFunc(nodes, func(a, b nodeRate) int { return cmp.Compare(a.gbps, b.gbps) })
		said += fmt.Sprintf(", the slowest %s with %s", slowest.node, gigabytes(slowest.gbps))
	}
	return said
}

// where is the directory of the measurement, if it is not the mount.
func (s StorageSeen) where() string {
	if s.Dir == "" || s.Dir == s.Mount {
		return ""
	}
	return " in " + s.Dir
}
