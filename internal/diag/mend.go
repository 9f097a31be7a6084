package diag

import "slices"

// Mender makes the fixes of problems in a text and proves each: the problem is
// gone, there are no more errors than before, and nothing that people wrote is
// lost. A fix that does not hold is not made. Mending what was mended changes
// nothing.
type Mender struct {
	// Check gives the problems of a text. It depends on the text alone.
	Check func(text []byte) *List
	// Keeps reports whether nothing is lost from one text to the next.
	Keeps func(before, after []byte) bool
}

// Mended is what Mend did.
type Mended struct {
	Text []byte
	// Fixed are the problems that were fixed, with the places of their time.
	Fixed []Diagnostic
	// Left are the problems of Text. A Fix of theirs did not hold.
	Left *List
}

const (
	// maxRounds bounds the work where fixes lie in each other.
	maxRounds = 100
	// maxMended is how many bytes are checked where many fixes of a large text do
	// not hold.
	maxMended = 32 << 20
)

// Mend makes fixes until none is left that holds. Fixes that overlap are made one
// after the other, with a new check between them.
func (m Mender) Mend(text []byte) Mended {
	done := Mended{Text: text, Left: m.Check(text)}
	work := mending{Mender: m, bytes: maxMended}
	seen := map[string]bool{}
	for range maxRounds {
		if seen[string(done.Text)] {
			break
		}
		seen[string(done.Text)] = true
		fixes := apart(done.Left.All())
		made, ok := work.most(done, fixes)
		if !ok {
			break
		}
		made.Fixed = append(done.Fixed, made.Fixed...)
		done = made
	}
	return done
}

// mending is a Mend at work.
type mending struct {
	Mender
	// bytes is how much may still be checked.
	bytes int
}

// most makes as many of the fixes as hold together.
func (m *mending) most(from Mended, fixes []Diagnostic) (Mended, bool) {
	if len(fixes) == 0 {
		return from, false
	}
	if made, ok := m.make(from, fixes); ok {
		return made, true
	}
	if len(fixes) == 1 {
		return from, false
	}
	half := len(fixes) / 2
	first, ok := m.most(from, fixes[:half])
	second, also := m.most(from, fixes[half:])
	if ok && also {
		if both, together := m.make(from, slices.Concat(first.Fixed, second.Fixed)); together {
			return both, true
		}
	}
	if ok {
		return first, true
	}
	return second, also
}

// make makes all of the fixes, if they hold.
func (m *mending) make(from Mended, fixes []Diagnostic) (Mended, bool) {
	if m.bytes -= len(from.Text); m.bytes < 0 {
		return from, false
	}
	var edits []Edit
	same := map[string]bool{}
	for _, d := range fixes {
		if key := d.Fix.same(); !same[key] {
			same[key] = true
			edits = append(edits, d.Fix.Edits...)
		}
	}
	text, ok := Patch(from.Text, edits)
	if !ok || m.Keeps != nil && !m.Keeps(from.Text, text) {
		return from, false
	}
	made := Mended{Text: text, Fixed: fixes, Left: m.Check(text)}
	return made, made.Left.Count(Error) <= from.Left.Count(Error) && gone(fixes, from.Left, made.Left)
}

// apart are the problems whose fixes can be made together: the first of those
// that overlap, and all whose fixes are the same.
func apart(all []Diagnostic) []Diagnostic {
	var chosen []Diagnostic
	var room Room
	taken := map[string]bool{}
	for _, d := range all {
		if d.Fix == nil || len(d.Fix.Edits) == 0 {
			continue
		}
		if key := d.Fix.same(); taken[key] || room.Take(d.Fix.Edits) {
			taken[key] = true
			chosen = append(chosen, d)
		}
	}
	return chosen
}

// gone reports whether problems are no longer there: as many of their kind are
// fewer, or none is at the path.
func gone(fixed []Diagnostic, before, after *List) bool {
	type kind struct{ code, message string }
	type spot struct {
		kind
		path string
	}
	fewer, left := map[kind]int{}, map[spot]int{}
	for _, d := range before.All() {
		fewer[kind{d.Code, d.Message}]++
	}
	for _, d := range after.All() {
		fewer[kind{d.Code, d.Message}]--
		left[spot{kind{d.Code, d.Message}, d.Path}]++
	}
	want := map[kind]int{}
	for _, d := range fixed {
		want[kind{d.Code, d.Message}]++
	}
	return !slices.ContainsFunc(fixed, func(d Diagnostic) bool {
		k := kind{d.Code, d.Message}
		return fewer[k] < want[k] && left[spot{k, d.Path}] > 0
	})
}
