// Package pattern makes regular expressions when they are first needed.
package pattern

import (
	"regexp"
	"sync"
)

// New is a regular expression that is made at its first use; one that cannot be read panics then. It is what sync.OnceValue makes in a
// third of the memory, as a program has hundreds before it begins, and in one place: generic code is compiled for each use.
func New(text string) func() *regexp.Regexp { return (&lazy{text: text}).compiled }

type lazy struct {
	text string
	once sync.Once
	made *regexp.Regexp
}

func (l *lazy) compiled() *regexp.Regexp {
	l.once.Do(func() { l.made = regexp.MustCompile(l.text) })
	return l.made
}
