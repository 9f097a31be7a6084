package yamledit

import (
	"bytes"
	"cmp"
	"slices"

	yaml "go.yaml.in/yaml/v4"
)

// Layout is where everything of a document stands in its text, for changes of
// the text. It is made when the first fix is asked for.
type Layout struct {
	data []byte
	// starts are the byte offsets of the lines.
	starts []int
	// skip is the length of the byte order mark before the text.
	skip int
	top  *yaml.Node
	// keys and values find the slot of a key, and of a value.
	keys, values map[position]*Slot
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

// Slot is where a value stands in the tree: an entry of a mapping, or an item of
// a sequence.
type Slot struct {
	in *yaml.Node
	// at is the index of the key, or of the item, in in.Content.
	at int
	// Shared says that an alias stands for the value, too, or for what is around it.
	Shared bool
}

func (s *Slot) Key() *yaml.Node {
	if s.in.Kind != yaml.MappingNode {
		return nil
	}
	return s.in.Content[s.at]
}

func (s *Slot) Value() *yaml.Node { return s.in.Content[s.at+s.width()-1] }

// width is how many nodes a slot has: an entry two, an item one.
func (s *Slot) width() int {
	if s.in.Kind == yaml.MappingNode {
		return 2
	}
	return 1
}

// first is the slot's first node.
func (s *Slot) first() *yaml.Node { return s.in.Content[s.at] }

// only reports whether the collection has nothing else.
func (s *Slot) only() bool { return len(s.in.Content) == s.width() }

func (s *Slot) last() bool { return s.at+s.width() == len(s.in.Content) }

// Flow reports whether a collection is written in brackets.
func Flow(y *yaml.Node) bool { return y.Style&yaml.FlowStyle != 0 }

// New reads a text. It gives nil if the text is no YAML.
func New(data []byte) *Layout {
	text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	l := &Layout{
		data: text, starts: LineStarts(text), skip: len(data) - len(text), proofs: maxProofs,
		keys: map[position]*Slot{}, values: map[position]*Slot{}, ends: map[*yaml.Node]int{},
	}
	top, err := loadTree(text)
	if err != nil {
		return nil
	}
	l.top = top
	walk := walker{Layout: l, aliased: map[*yaml.Node]bool{}}
	walk.aliases(top)
	walk.node(top, false)
	slices.SortFunc(walk.special, func(a, b start) int { return cmp.Compare(a.at, b.at) })
	scan := scanner{Layout: l, special: walk.special}
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
	*Layout
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
	s := Slot{in: y, Shared: shared}
	for ; s.at < len(y.Content); s.at += s.width() {
		one := s
		if key := one.Key(); key != nil {
			w.keys[positionOf(key)] = &one
			w.node(key, shared)
		}
		w.values[positionOf(one.Value())] = &one
		one.Shared = shared || w.aliased[one.Value()]
		w.node(one.Value(), shared)
	}
}

// offset is the byte at which a node begins.
func (l *Layout) offset(y *yaml.Node) int { return l.byteAt(y.Line, y.Column) }

// byteAt is the byte of a line and column.
func (l *Layout) byteAt(line, column int) int {
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
func (l *Layout) lineStart(line int) int {
	if line > len(l.starts) {
		return len(l.data)
	}
	return l.starts[line-1]
}

// lineOf is the line of a byte.
func (l *Layout) lineOf(at int) int {
	i, found := slices.BinarySearch(l.starts, at)
	if found {
		return i + 1
	}
	return i
}

// within reports whether a byte lies inside of a value, not at its start.
func (l *Layout) within(at int) bool {
	i, _ := slices.BinarySearchFunc(l.solid, at, func(s span, at int) int { return cmp.Compare(s.end, at+1) })
	return i < len(l.solid) && l.solid[i].start < at
}

// commentsIn are the comments in a span.
func (l *Layout) commentsIn(s span) []span {
	i, _ := slices.BinarySearchFunc(l.comments, s.start, func(c span, at int) int { return cmp.Compare(c.start, at) })
	j := i
	for j < len(l.comments) && l.comments[j].start < s.end {
		j++
	}
	return l.comments[i:j]
}

// indent is the number of blanks that a line begins with, and what stands
// behind them: nothing, a comment or content.
func (l *Layout) indent(line int) (blanks int, what lineKind) {
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

// ValueAt is where the value of a kind stands that begins at a place; nil if there is none.
func (l *Layout) ValueAt(line, column int, kind yaml.Kind) *Slot {
	return l.values[position{line, column, kind}]
}

// KeyAt is the entry whose key is at a place; nil if there is none.
func (l *Layout) KeyAt(line, column int) *Slot {
	return l.keys[position{line, column, yaml.ScalarNode}]
}

// Whole is the slot of an entry whose key was found: it knows whether an alias stands for its value.
func (l *Layout) Whole(s *Slot) *Slot { return l.values[positionOf(s.Value())] }

// MapAt is the map at a place, unless an alias stands for it.
func (l *Layout) MapAt(line, column int) *yaml.Node {
	at := position{line, column, yaml.MappingNode}
	if at == positionOf(l.top) {
		return l.top
	}
	if s := l.values[at]; s != nil && !s.Shared {
		return s.Value()
	}
	return nil
}

// Twins reports whether two entries stand in one map and have values that mean the same.
func Twins(a, b *Slot) bool {
	none := &future{}
	return a.in == b.in && none.digest(a.Value()) == none.digest(b.Value())
}

// Sibling is a plain value that stands beside another one.
func (s *Slot) Sibling(name string) string {
	for i := 0; i+1 < len(s.in.Content); i += 2 {
		if s.in.Kind == yaml.MappingNode && s.in.Content[i].Value == name {
			return s.in.Content[i+1].Value
		}
	}
	return ""
}
