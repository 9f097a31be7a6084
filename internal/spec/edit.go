package spec

import "github.com/muster-hpc/muster/internal/diag"

// The fixes below are nil where the file's form does not allow a change that is
// sure to be right.

// Replace is a fix that gives a plain value another text.
func (v View) Replace(value string) *diag.Fix { return nil }

// Rename is a fix that gives a value another key.
func (v View) Rename(key string) *diag.Fix { return nil }

// Remove is a fix that takes a value away with its key.
func (v View) Remove() *diag.Fix { return nil }

// Insert is a fix that adds a key with a plain value to a map.
func (v View) Insert(key, value string) *diag.Fix { return nil }
