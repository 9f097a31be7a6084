package spec

import "github.com/muster-hpc/muster/internal/diag"

// Misspelt and misplaced keys are fixed where they are found. These are the same
// changes for tests of layouts, at any value.

// Rename is a fix that gives a value another key.
func (v View) Rename(key string) *diag.Fix {
	l, s := v.slot()
	if s == nil || s.Key() == nil {
		return nil
	}
	return l.Rename(l.KeyAt(s.Key().Line, s.Key().Column), key)
}

// Move is a fix that takes a value with its key, the comments above it and all
// below it to another map.
func (v View) Move(to View) *diag.Fix {
	l, s := v.slot()
	if s == nil || s.Key() == nil {
		return nil
	}
	return l.Move(s, mapOf(l, to.node), s.Key().Value, to.field.title())
}
