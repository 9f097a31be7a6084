package batch

import (
	"slices"
	"strings"
	"sync"
)

// Versions are those of Slurm that a cluster may have, such as 23.11 to 25.11, without
// the number of the release. The zero value is not known.
type Versions struct{ First, Last string }

// cloudVersions are those of clusters on AWS: the images of ParallelCluster 3.11 to 3.16
// have Slurm 23.11.10 to 25.11.8 (its CHANGELOG).
var cloudVersions = Versions{First: "23.11", Last: "25.11"}

// versionsOf are those that daemons told, such as "22.05.8"; those that are no version
// are passed over.
func versionsOf(releases []string) Versions {
	var found Versions
	for _, r := range releases {
		parts := strings.Split(r, ".")
		if len(parts) < 2 || len(parts[0]) != 2 || len(parts[1]) != 2 || strings.Trim(parts[0]+parts[1], "0123456789") != "" {
			continue
		}
		v := parts[0] + "." + parts[1]
		if found.First == "" || v < found.First {
			found.First = v
		}
		found.Last = max(found.Last, v)
	}
	return found
}

// known tells whether anything is known of the version.
func (v Versions) known() bool { return v.First != "" }

// from tells whether all of the versions are a version or newer, before whether all are
// older than it.
func (v Versions) from(version string) bool   { return v.known() && v.First >= version }
func (v Versions) before(version string) bool { return v.known() && v.Last < version }

// String is "22.05", or "23.11 to 25.11".
func (v Versions) String() string {
	if v.First == v.Last {
		return v.First
	}
	return v.First + " to " + v.Last
}

// spansIn reads "22.05..23.02,24.05..25.11"; "-" is none.
func spansIn(text string) []Versions {
	var all []Versions
	for item := range strings.SplitSeq(text, ",") {
		if first, last, ok := strings.Cut(item, ".."); ok {
			all = append(all, Versions{first, last})
		}
	}
	return all
}

// in tells whether one of some versions has an option, or may have it: the newest that is
// known stands for newer ones, the oldest for older ones.
func (o *option) in(v Versions) bool {
	if o.versions == nil || !v.known() {
		return true
	}
	all := slurmVersions()
	first, last := min(max(v.First, all[0]), all[len(all)-1]), max(min(v.Last, all[len(all)-1]), all[0])
	return slices.ContainsFunc(o.versions, func(s Versions) bool { return s.First <= last && first <= s.Last })
}

// bareIn tells whether an option surely takes no value in some versions, where others take one.
func (o *option) bareIn(v Versions) bool {
	return v.known() && slices.ContainsFunc(o.bare, func(s Versions) bool { return s.First <= max(v.First, slurmVersions()[0]) && v.Last <= s.Last })
}

// slurmVersions are those of the table, the oldest first.
var slurmVersions = sync.OnceValue(func() []string {
	var all []string
	for _, row := range optionFields() {
		for _, column := range []int{sbatchColumn, srunColumn} {
			for _, s := range spansIn(row[column]) {
				all = append(all, s.First, s.Last)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
})
