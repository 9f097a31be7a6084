package checkpoint

import (
	"maps"
	"path"
	"slices"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

var digits = pattern.New(`\d+`)

// kinds are the names of a checkpoint's files without their numbers, and how many there are of each. What is in the making is none yet.
func kinds(files []File) map[string]int {
	all := map[string]int{}
	for _, f := range files {
		if !inTheMaking(f.Path) {
			all[kindOf(f.Path)]++
		}
	}
	return all
}

func kindOf(p string) string { return digits().ReplaceAllString(p, "#") }

var making = pattern.New(`(?:^|/)(?:\..+\.[A-Za-z0-9]{6}|\.~tmp~|_?tmp[-_.].*|.*(?:\.(?:incomplete|partial|inprogress|writing|saving|download|temp|tmp[-_.].*)|[-_]tmp|~))(?:/|$)`)

// inTheMaking reports whether a file has a name that programs give it while they write it: .optim.pt.Ab3xYz of rsync,
// optim.pt.incomplete and its like. Others may use such names for what stays, so that Temporary does not know them.
func inTheMaking(p string) bool { return making().MatchString(p) }

// Lacks is a kind of file that a checkpoint has not and another one of its run has, "" if there is none. That of a run which
// also writes what it did not write before says nothing: it was changed.
func Lacks(files, other []File) string {
	have, had := kinds(files), kinds(other)
	for kind := range have {
		if had[kind] == 0 {
			return ""
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(had)) {
		if have[kind] == 0 {
			return path.Clean(kind)
		}
	}
	return ""
}

// Fewer is a kind of file of which a checkpoint has fewer than another one of its run, and how many both have; "" if there is
// none, or none at all. A checkpoint that says nothing of itself may lack the files of some ranks, or was written by fewer of them: the
// kinds that are counted are those of which it says how many it has. Of the random states of accelerate, which goes on without
// them, fewer say that there were fewer ranks.
func Fewer(files, other []File, counted []string) (kind string, have, had int) {
	these, those := kinds(files), kinds(other)
	for _, kind := range slices.Sorted(maps.Keys(those)) {
		if slices.Contains(counted, kind) || path.Base(kind) == "random_states_#.pkl" {
			continue
		}
		if 0 < these[kind] && these[kind] < those[kind] {
			return path.Clean(kind), these[kind], those[kind]
		}
	}
	return "", 0, 0
}
