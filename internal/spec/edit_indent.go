package spec

import (
	"fmt"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/diag"
)

// step is how far keys are indented below their map.
const step = 2

// indent puts entries into the map without a value before them, by indenting
// their lines.
func (d *document) indent(shell *entry, below []entry) *diag.Fix {
	l := d.layout()
	if l == nil {
		return nil
	}
	s := l.keys[position{shell.line, shell.column, yaml.ScalarNode}]
	if s == nil || s.shared || s.value().Value != "" || linked(s.value()) {
		return nil
	}
	first, last := &slot{in: s.in, at: s.at + s.width()}, &slot{in: s.in, at: s.at + len(below)*s.width()}
	if last.at >= len(s.in.Content) || last.key().Value != below[len(below)-1].key {
		return nil
	}
	top, ok := l.block(first)
	bottom, sure := l.block(last)
	if !ok || !sure {
		return nil
	}
	edit := diag.Edit{Start: l.lineStart(top.first), End: l.lineStart(bottom.last + 1), Text: l.shifted(top.first, bottom.last, step)}
	title := fmt.Sprintf("indent %s below %s", clip(first.key().Value), clip(shell.key))
	if len(below) > 1 {
		title = fmt.Sprintf("indent %s to %s below %s", clip(first.key().Value), clip(last.key().Value), clip(shell.key))
	}
	return l.fix(title, []diag.Edit{edit}, &change{shell: s, below: last})
}
