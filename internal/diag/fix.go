package diag

import "fmt"

// Fix is a change of a file's text that mends one problem and changes nothing
// else that the file means. It keeps comments.
type Fix struct {
	// Title says what is done, for example "rename Instancetype to InstanceType".
	Title string `json:"title"`
	// Edits do not overlap.
	Edits []Edit `json:"edits"`
}

// Edit puts a text in the place of the bytes from Start up to End of a file.
type Edit struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// same is equal for fixes that make the same change.
func (f *Fix) same() string { return fmt.Sprintf("%#v", f.Edits) }

// DropFixes takes away the fixes that are not right.
func (l *List) DropFixes(right func(*Fix) bool) {
	for _, d := range l.items {
		if d.Fix != nil && !right(d.Fix) {
			d.Fix = nil
		}
	}
}
