// Package yamledit changes texts of YAML as a careful person does: comments, quotes and
// layout stay as they are. A change that is not sure to be right is not made: Settle
// reads each new text, and takes away what changes more than it says.
package yamledit

// maxShown is how much of a user's value a message or a title repeats.
const maxShown = 60

// Clip cuts a user's value to a length that can be shown.
func Clip(s string) string {
	n := 0
	for i := range s {
		if n == maxShown {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
