package data

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Filter says which files of a directory are meant. A pattern is a path below it, in which * stands for anything but a
// slash, ** for any directories, ? for one character, [abc] for one of these and {a,b} for one of those. One that matches
// a directory means all that is in there.
type Filter struct {
	Include []string // none for all
	Exclude []string // of these
}

// Check refuses patterns that say nothing.
func (f Filter) Check() error {
	for _, p := range slices.Concat(f.Include, f.Exclude) {
		switch {
		case trimmed(p) == "" || !doublestar.ValidatePattern(trimmed(p)):
			return fmt.Errorf("%q is no pattern", p)
		case strings.HasPrefix(p, "/"):
			return fmt.Errorf("the pattern %q begins with a slash: patterns are paths below the directory", p)
		}
	}
	return nil
}

// Takes tells whether a file is meant.
func (f Filter) Takes(path string) bool {
	if slices.ContainsFunc(f.Exclude, func(p string) bool { return matches(p, path) }) {
		return false
	}
	return len(f.Include) == 0 || slices.ContainsFunc(f.Include, func(p string) bool { return matches(p, path) })
}

// Enters tells whether there may be such a file below a directory.
func (f Filter) Enters(dir string) bool {
	if slices.ContainsFunc(f.Exclude, func(p string) bool { return matches(p, dir) }) {
		return false
	}
	return len(f.Include) == 0 || slices.ContainsFunc(f.Include, func(p string) bool { return matches(p, dir) || leads(p, dir) })
}

// Wanted is Takes for files and Enters for directories.
func (f Filter) Wanted(path string, dir bool) bool {
	if dir {
		return f.Enters(path)
	}
	return f.Takes(path)
}

// matches tells whether a pattern matches a path or a directory that it is in.
func matches(pattern, path string) bool {
	pattern = trimmed(pattern)
	for i := range len(path) + 1 {
		if (i == len(path) || path[i] == '/') && doublestar.MatchUnvalidated(pattern, path[:i]) {
			return true
		}
	}
	return false
}

// leads tells whether a pattern may match something below a directory, by what it has before the first wildcard.
func leads(pattern, dir string) bool {
	base, rest := doublestar.SplitPattern(trimmed(pattern))
	if base == "." || strings.HasPrefix(dir, base+"/") {
		return strings.Contains(rest, "/")
	}
	return base == dir || strings.HasPrefix(base, dir+"/")
}

func trimmed(pattern string) string {
	return strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
}
