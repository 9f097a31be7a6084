package yamledit

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/diag"
)

// step is how far keys are indented below their map.
const step = 2

// Indent puts the entries behind a map without a value into it, by indenting their
// lines: so many, of which the last has that key.
func (l *Layout) Indent(s *Slot, many int, key string) *diag.Fix {
	if s == nil || s.Shared || s.Value().Value != "" || linked(s.Value()) {
		return nil
	}
	first, last := &Slot{in: s.in, at: s.at + s.width()}, &Slot{in: s.in, at: s.at + many*s.width()}
	if last.at >= len(s.in.Content) || last.Key().Value != key {
		return nil
	}
	top, ok := l.block(first)
	bottom, sure := l.block(last)
	if !ok || !sure {
		return nil
	}
	edit := diag.Edit{Start: l.lineStart(top.first), End: l.lineStart(bottom.last + 1), Text: l.shifted(top.first, bottom.last, step)}
	title := fmt.Sprintf("indent %s below %s", Clip(first.Key().Value), Clip(s.Key().Value))
	if many > 1 {
		title = fmt.Sprintf("indent %s to %s below %s", Clip(first.Key().Value), Clip(last.Key().Value), Clip(s.Key().Value))
	}
	return l.fix(title, []diag.Edit{edit}, &change{shell: s, below: last})
}
