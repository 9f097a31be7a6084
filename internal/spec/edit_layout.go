package spec

import (
	"bytes"
	"cmp"
	"slices"

	yaml "go.yaml.in/yaml/v4"
)

// layout is where everything of a document stands in its text, for changes of
// the text. It is made when the first fix is asked for.
type layout struct {
	lines
	// skip is the length of the byte order mark before the text.
	skip int
	top  *yaml.Node
	// keys and values find the slot of a key, and of a value.
	keys, values map[position]*slot
	// ends are the ends of values that do not end with their line: quoted texts,
	// block texts, and collections in brackets.
	ends map[*yaml.Node]int
	// solid are the spans of those, the outermost ones.
	solid []span
	// comments are the spans of all comments, without their line breaks.
	comments []span
	// proposed are the fixes that wait for their proof, and proofs is how many more
	// bytes of proofs may be read.
	proposed []proposal
	proofs   int
	// last is what byteAt found last: the next question is mostly about a place
	// behind it.
	last found
}

// maxProofs bounds the time that proofs of fixes take for one text.
const maxProofs = 4 << 20

// found is where a column of a line is.
type found struct{ line, column, at int }

// position is where the parser says that something begins. A block collection
// begins where its first key does, so the kind is part of it.
type position struct {
	line, column int
	kind         yaml.Kind
}

func positionOf(y *yaml.Node) position { return position{y.Line, y.Column, y.Kind} }

// span is the bytes from start up to end.
type span struct{ start, end int }

// slot is where a value stands in the tree: an entry of a mapping, or an item of
// a sequence.
type slot struct {
	in *yaml.Node
	// at is the index of the key, or of the item, in in.Content.
	at int
	// shared says that an alias stands for the value, too, or for what is around it.
	shared bool
}

func (s *slot) key() *yaml.Node {
	if s.in.Kind != yaml.MappingNode {
		return nil
	}
	return s.in.Content[s.at]
}

func (s *slot) value() *yaml.Node { return s.in.Content[s.at+s.width()-1] }

// width is how many nodes a slot has: an entry two, an item one.
func (s *slot) width() int {
	if s.in.Kind == yaml.MappingNode {
		return 2
	}
	return 1
}

// first is the slot's first node.
func (s *slot) first() *yaml.Node { return s.in.Content[s.at] }

// only reports whether the collection has nothing else.
func (s *slot) only() bool { return len(s.in.Content) == s.width() }

func (s *slot) last() bool { return s.at+s.width() == len(s.in.Content) }

func flow(y *yaml.Node) bool { return y.Style&yaml.FlowStyle != 0 }

// newLayout gives nil if the text is no YAML.
func newLayout(data []byte) *layout {
	text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	l := &layout{
		lines: lines{data: text}, skip: len(data) - len(text), proofs: maxProofs,
		keys: map[position]*slot{}, values: map[position]*slot{}, ends: map[*yaml.Node]int{},
	}
	top, err := loadTree(text)
	if err != nil {
		return nil
	}
	l.top = top
	l.index()
	walk := walker{layout: l, aliased: map[*yaml.Node]bool{}}
	walk.aliases(top)
	walk.node(top, false)
	slices.SortFunc(walk.special, func(a, b start) int { return cmp.Compare(a.at, b.at) })
	scan := scanner{layout: l, special: walk.special}
	if !scan.run() {
		return nil
	}
	return l
}

// loadTree parses a text with one document.
func loadTree(text []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var tree yaml.Node
	if err := loader.Load(&tree); err != nil {
		return nil, err
	}
	if len(tree.Content) == 0 {
		return nil, errNoDocument
	}
	return tree.Content[0], nil
}

// walker goes through the tree once.
type walker struct {
	*layout
	aliased map[*yaml.Node]bool
	special []start
}

// start is where a value begins whose end has to be looked for.
type start struct {
	at   int
	node *yaml.Node
}

func (w *walker) aliases(y *yaml.Node) {
	if y.Kind == yaml.AliasNode {
		w.aliased[y.Alias] = true
	}
	for _, c := range y.Content {
		w.aliases(c)
	}
}

func (w *walker) node(y *yaml.Node, shared bool) {
	const ends = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.FlowStyle
	if y.Style&ends != 0 && y.Kind != yaml.AliasNode {
		w.special = append(w.special, start{w.offset(y), y})
	}
	shared = shared || w.aliased[y]
	s := slot{in: y, shared: shared}
	for ; s.at < len(y.Content); s.at += s.width() {
		one := s
		if key := one.key(); key != nil {
			w.keys[positionOf(key)] = &one
			w.node(key, shared)
		}
		w.values[positionOf(one.value())] = &one
		one.shared = shared || w.aliased[one.value()]
		w.node(one.value(), shared)
	}
}

// offset is the byte at which a node begins.
func (l *layout) offset(y *yaml.Node) int { return l.byteAt(y.Line, y.Column) }

// byteAt is the byte of a line and column.
func (l *layout) byteAt(line, column int) int {
	if line < 1 || line > len(l.starts) {
		return len(l.data)
	}
	f := l.last
	if f.line != line || f.column > column {
		f = found{line, 1, l.starts[line-1]}
	}
	for ; f.column < column && f.at < len(l.data); f.column++ {
		f.at += runeLength(l.data[f.at])
	}
	f.at = min(f.at, len(l.data))
	l.last = f
	return f.at
}

// runeLength is the length of the UTF-8 sequence that a byte begins.
func runeLength(b byte) int {
	switch {
	case b >= 0xf0:
		return 4
	case b >= 0xe0:
		return 3
	case b >= 0xc0:
		return 2
	default:
		return 1
	}
}

// lineStart is the byte at which a line begins; behind the last line it is the
// end of the text.
func (l *layout) lineStart(line int) int {
	if line > len(l.starts) {
		return len(l.data)
	}
	return l.starts[line-1]
}

// lineOf is the line of a byte.
func (l *layout) lineOf(at int) int {
	i, found := slices.BinarySearch(l.starts, at)
	if found {
		return i + 1
	}
	return i
}

// within reports whether a byte lies inside of a value, not at its start.
func (l *layout) within(at int) bool {
	i, _ := slices.BinarySearchFunc(l.solid, at, func(s span, at int) int { return cmp.Compare(s.end, at+1) })
	return i < len(l.solid) && l.solid[i].start < at
}

// commentsIn are the comments in a span.
func (l *layout) commentsIn(s span) []span {
	i, _ := slices.BinarySearchFunc(l.comments, s.start, func(c span, at int) int { return cmp.Compare(c.start, at) })
	j := i
	for j < len(l.comments) && l.comments[j].start < s.end {
		j++
	}
	return l.comments[i:j]
}

// indent is the number of blanks that a line begins with, and what stands
// behind them: nothing, a comment or content.
func (l *layout) indent(line int) (blanks int, what lineKind) {
	start := l.lineStart(line)
	at := start
	for at < len(l.data) && (l.data[at] == ' ' || l.data[at] == '\t') {
		at++
	}
	switch {
	case l.within(start):
		what = content
	case at == len(l.data) || breakAt(l.data[at:]) > 0:
		what = blank
	case len(l.commentsIn(span{at, at + 1})) > 0:
		what = comment
	default:
		what = content
	}
	return at - start, what
}

type lineKind int

const (
	blank lineKind = iota
	comment
	content
)
