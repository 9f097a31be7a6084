package diag

import (
	"bytes"
	"cmp"
	"slices"
)

// Patch makes edits in a text. It is false if they overlap or lie outside of it.
// Insertions at one place stay in their order.
func Patch(text []byte, edits []Edit) ([]byte, bool) {
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b Edit) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	var out bytes.Buffer
	at := 0
	for _, e := range sorted {
		if e.Start < at || e.End < e.Start || e.End > len(text) {
			return nil, false
		}
		out.Write(text[at:e.Start])
		out.WriteString(e.Text)
		at = e.End
	}
	out.Write(text[at:])
	return out.Bytes(), true
}
