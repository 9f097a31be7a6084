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

// Room is the part of a text in which nothing is edited so far. The zero value is
// the whole text.
type Room struct {
	// taken are edits that do not overlap, by their start.
	taken []Edit
}

// Take takes the room of edits that are made together. It is false, and takes
// nothing, if they overlap with those before.
func (r *Room) Take(edits []Edit) bool {
	for _, e := range edits {
		if !r.has(e) {
			return false
		}
	}
	for _, e := range edits {
		r.taken = slices.Insert(r.taken, r.find(e), e)
	}
	return true
}

// has reports whether an edit overlaps with none. Its neighbours are the only
// ones that it can overlap with.
func (r *Room) has(e Edit) bool {
	i := r.find(e)
	return (i == 0 || !e.overlaps(r.taken[i-1])) && (i == len(r.taken) || !e.overlaps(r.taken[i]))
}

// find is the first edit that does not start before another one.
func (r *Room) find(e Edit) int {
	i, _ := slices.BinarySearchFunc(r.taken, e.Start, func(t Edit, at int) int { return cmp.Compare(t.Start, at) })
	return i
}

// overlaps reports whether two edits cannot be made together. Insertions can,
// at one place, too.
func (e Edit) overlaps(f Edit) bool {
	if e.Start == e.End && f.Start == f.End {
		return false
	}
	return e.Start < f.End && f.Start < e.End || e.Start == f.Start
}
