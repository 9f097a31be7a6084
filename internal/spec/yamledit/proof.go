package yamledit

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/diag"
)

var errNoDocument = errors.New("there is no document in the text")

// change is what a fix does to the tree of values.
type change struct {
	// drop is the entry or item that goes.
	drop *Slot
	// in gets value under the name.
	in    *yaml.Node
	name  string
	value *yaml.Node
	// shell is a map without a value that gets the entries behind it up to below.
	shell, below *Slot
}

// proposal is a fix whose change of the tree is not proved yet.
type proposal struct {
	fix *diag.Fix
	change
}

// Settle proves the fixes that were proposed, as many at once as can be made
// together, and in halves where they do not hold together. Those that do not hold
// lose their edits.
func (l *Layout) Settle() {
	waiting := l.proposed
	l.proposed = nil
	for len(waiting) > 0 {
		var room diag.Room
		var group, later []proposal
		for _, p := range waiting {
			if room.Take(p.fix.Edits) {
				group = append(group, p)
			} else {
				later = append(later, p)
			}
		}
		if len(group) == 0 {
			group, later = later[:1], later[1:]
		}
		l.settleAll(group)
		waiting = later
	}
}

func (l *Layout) settleAll(group []proposal) {
	switch half := len(group) / 2; {
	case l.prove(group):
	case len(group) == 1:
		group[0].fix.Edits = nil
	default:
		l.settleAll(group[:half])
		l.settleAll(group[half:])
	}
}

// prove makes fixes and reads the result. It reports whether the tree is the one
// before with the changes, and no comment is lost.
func (l *Layout) prove(group []proposal) bool {
	if l.proofs -= len(l.data); l.proofs < 0 {
		return false
	}
	var edits []diag.Edit
	all := future{drops: map[seat]bool{}, puts: map[*yaml.Node][]change{}, fills: map[seat]*Slot{}}
	for _, p := range group {
		for _, e := range p.fix.Edits {
			edits = append(edits, diag.Edit{Start: e.Start - l.skip, End: e.End - l.skip, Text: e.Text})
		}
		all.add(p.change)
	}
	text, ok := diag.Patch(l.data, edits)
	if !ok {
		return false
	}
	after := New(text)
	return after != nil && all.digest(l.top) == (&future{}).digest(after.top) && slices.Equal(l.remarks(), after.remarks())
}

// future is the tree as it will be, with all that fixes do to it.
type future struct {
	drops map[seat]bool
	puts  map[*yaml.Node][]change
	// fills are the last ones of the entries that an empty map before them gets.
	fills map[seat]*Slot
}

// seat is a place in the tree.
type seat struct {
	in *yaml.Node
	at int
}

func (s *Slot) seat() seat { return seat{s.in, s.at} }

func (c *future) add(one change) {
	if one.drop != nil {
		c.drops[one.drop.seat()] = true
	}
	if one.in != nil {
		c.puts[one.in] = append(c.puts[one.in], one)
	}
	if one.shell != nil {
		c.fills[one.shell.seat()] = one.below
	}
}

type digest [sha256.Size]byte

// digest is one for trees that mean the same: without comments, styles and the
// order of keys.
func (c *future) digest(y *yaml.Node) digest {
	h := sha256.New()
	h.Write([]byte{byte(y.Kind)})
	h.Write([]byte(y.Anchor + "\x00" + y.ShortTag() + "\x00" + y.Value))
	var parts []digest
	for s := (Slot{in: y}); s.at < len(y.Content); s.at += s.width() {
		if c.drops[s.seat()] {
			continue
		}
		value, last := s.Value(), s.at
		if below := c.fills[s.seat()]; below != nil {
			last = below.at
			value = &yaml.Node{Kind: yaml.MappingNode, Content: y.Content[s.at+s.width() : last+s.width()]}
		}
		part := c.digest(value)
		if key := s.Key(); key != nil {
			part = pair(c.digest(key), part)
		}
		parts = append(parts, part)
		s.at = last
	}
	for _, put := range c.puts[y] {
		name := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: put.name}
		parts = append(parts, pair(c.digest(&name), c.digest(put.value)))
	}
	if y.Kind == yaml.MappingNode {
		slices.SortFunc(parts, func(a, b digest) int { return bytes.Compare(a[:], b[:]) })
	}
	for _, p := range parts {
		h.Write(p[:])
	}
	return digest(h.Sum(nil))
}

func pair(a, b digest) digest { return sha256.Sum256(append(a[:], b[:]...)) }

// remarks are the comments' texts in order of the alphabet.
func (l *Layout) remarks() []string {
	out := make([]string, len(l.comments))
	for i, c := range l.comments {
		out[i] = l.text(c)
	}
	slices.Sort(out)
	return out
}

// CommentsKept reports whether two texts are YAML and have the same comments,
// in any order: what every fix must leave true.
func CommentsKept(before, after []byte) bool {
	a, b := New(before), New(after)
	return a != nil && b != nil && slices.Equal(a.remarks(), b.remarks())
}
