package data

import (
	"fmt"
	"slices"
	"strings"
)

// idle are the patterns of a filter that have matched nothing yet.
type idle struct{ include, exclude []string }

func idleOf(f Filter) *idle {
	return &idle{slices.Clone(f.Include), slices.Clone(f.Exclude)}
}

// see takes the patterns away that match a path.
func (i *idle) see(path string) {
	said := func(pattern string) bool { return matches(pattern, path) }
	i.include, i.exclude = slices.DeleteFunc(i.include, said), slices.DeleteFunc(i.exclude, said)
}

// said is a filter as it is asked for.
func (f Filter) said() string {
	var words []string
	for _, p := range f.Include {
		words = append(words, fmt.Sprintf("--include %q", p))
	}
	for _, p := range f.Exclude {
		words = append(words, fmt.Sprintf("--exclude %q", p))
	}
	return strings.Join(words, " ")
}

// Everywhere is the pattern that means in any directory what this one means at the top alone, or empty.
func Everywhere(pattern string) string {
	if p := trimmed(pattern); !strings.Contains(p, "/") && p != "**" {
		return "**/" + p
	}
	return ""
}
