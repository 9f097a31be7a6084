package checkpoint

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"sync"
)

var digits = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+`) })

// kinds are the names of a checkpoint's files without their numbers.
func kinds(files []File) map[string]bool {
	all := map[string]bool{}
	for _, f := range files {
		all[digits().ReplaceAllString(f.Path, "#")] = true
	}
	return all
}

// Lacks is a kind of file that a checkpoint has not and another one of its run has, "" if there is none. That of a run which
// also writes what it did not write before says nothing: it was changed.
func Lacks(files, other []File) string {
	have, had := kinds(files), kinds(other)
	for kind := range have {
		if !had[kind] {
			return ""
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(had)) {
		if !have[kind] {
			return path.Clean(kind)
		}
	}
	return ""
}
