package spec

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
	drop *slot
	// in gets value under the name.
	in    *yaml.Node
	name  string
	value *yaml.Node
	// shell is a map without a value that gets the entries behind it up to below.
	shell, below *slot
}

// prove applies edits and reads the result. It reports whether the tree is the
// one before with the change, and no comment is lost.
func (l *layout) prove(edits []diag.Edit, c change) bool {
	if l.proofs -= len(l.data); l.proofs < 0 {
		return false
	}
	text, ok := diag.Patch(l.data, edits)
	if !ok {
		return false
	}
	after := newLayout(text)
	return after != nil && c.digest(l.top) == (&change{}).digest(after.top) && slices.Equal(l.remarks(), after.remarks())
}

type digest [sha256.Size]byte

// digest is one for trees that mean the same: without comments, styles and the
// order of keys.
func (c *change) digest(y *yaml.Node) digest {
	h := sha256.New()
	h.Write([]byte{byte(y.Kind)})
	h.Write([]byte(y.Anchor + "\x00" + y.ShortTag() + "\x00" + y.Value))
	var parts []digest
	s := slot{in: y}
	for ; s.at < len(y.Content); s.at += s.width() {
		if c.drop != nil && c.drop.in == y && c.drop.at == s.at {
			continue
		}
		if c.shell != nil && c.shell.in == y && s.at > c.shell.at && s.at <= c.below.at {
			continue
		}
		part := c.digest(c.valueOf(s))
		if key := s.key(); key != nil {
			part = pair(c.digest(key), part)
		}
		parts = append(parts, part)
	}
	if c.in == y {
		name := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: c.name}
		parts = append(parts, pair(c.digest(&name), c.digest(c.value)))
	}
	if y.Kind == yaml.MappingNode {
		slices.SortFunc(parts, func(a, b digest) int { return bytes.Compare(a[:], b[:]) })
	}
	for _, p := range parts {
		h.Write(p[:])
	}
	return digest(h.Sum(nil))
}

// valueOf is an entry's value after the change, if it is the map that was empty.
func (c *change) valueOf(s slot) *yaml.Node {
	if c.shell == nil || c.shell.in != s.in || c.shell.at != s.at {
		return s.value()
	}
	return &yaml.Node{Kind: yaml.MappingNode, Content: s.in.Content[s.at+s.width() : c.below.at+s.width()]}
}

func pair(a, b digest) digest { return sha256.Sum256(append(a[:], b[:]...)) }

// remarks are the comments' texts in order of the alphabet.
func (l *layout) remarks() []string {
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
	a, b := newLayout(before), newLayout(after)
	return a != nil && b != nil && slices.Equal(a.remarks(), b.remarks())
}
