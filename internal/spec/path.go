package spec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
)

// join adds a key to a path.
func join(path, key string) string {
	key = yamledit.Clip(key)
	if path == "" {
		return key
	}
	return path + "." + key
}

// index adds an item's number to a path.
func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// locate finds the place of a path such as "SharedStorage[0].Name", or of the
// part of it that the file has.
func (d *document) locate(path string) diag.Place {
	n, line, column := d.root, d.root.line, d.root.column
	for step := range strings.SplitSeq(path, ".") {
		name, rest, _ := strings.Cut(step, "[")
		if name != "" {
			e := n.entry(name)
			if e == nil {
				break
			}
			n = e.value
			line, column = spot(e)
		}
		if n = descend(n, rest, &line, &column); n == nil {
			break
		}
	}
	at := d.at(line, column)
	at.Path = path
	return at
}

// nodeAt is the value at a path; nil if the file has none.
func (d *document) nodeAt(path string) *node {
	n := d.root
	for step := range strings.SplitSeq(path, ".") {
		name, rest, _ := strings.Cut(step, "[")
		e := n.entry(name)
		if e == nil {
			return nil
		}
		var line, column int
		if n = descend(e.value, rest, &line, &column); n == nil {
			return nil
		}
	}
	return n
}

// descend follows indexes such as "0][2]"; nil is that there is no such item.
func descend(n *node, indexes string, line, column *int) *node {
	for part := range strings.SplitSeq(indexes, "[") {
		if part == "" {
			continue
		}
		i, err := strconv.Atoi(strings.TrimSuffix(part, "]"))
		if err != nil || i < 0 || i >= len(n.items) {
			return nil
		}
		n = n.items[i]
		*line, *column = n.line, n.column
	}
	return n
}

// spot is where a problem with an entry is shown: at its value if that is
// plain, otherwise at its key.
func spot(e *entry) (line, column int) {
	if e.value.kind == scalar && !e.value.null() {
		return e.value.line, e.value.column
	}
	return e.line, e.column
}

// quote is a user's value for a message.
func quote(s string) string { return fmt.Sprintf("%q", yamledit.Clip(s)) }
