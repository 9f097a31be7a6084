package spec

import (
	"bytes"
	"slices"

	yaml "go.yaml.in/yaml/v4"
)

// checkTabs reports the tabs that PyYAML gives up on: all that stand outside of
// quotes, blocks of text and comments. Our parser takes them for blanks.
func (d *document) checkTabs(tree *yaml.Node) {
	if !d.aws || bytes.IndexByte(d.data, '\t') < 0 {
		return
	}
	d.index()
	texts := d.texts(tree, nil)
	slices.SortFunc(texts, func(a, b region) int { return a.start - b.start })
	for i := 0; i < len(d.data) && !d.full(); i++ {
		if len(texts) > 0 && i >= texts[0].start {
			i = max(i, texts[0].end) - 1
			texts = texts[1:]
			continue
		}
		switch d.data[i] {
		case '#':
			if i == 0 || bytes.IndexByte([]byte(" \t\n\r"), d.data[i-1]) >= 0 {
				i += lineRest(d.data[i:])
			}
		case '\t':
			if at := d.atByte(i); at.Column <= maxSource {
				d.awsErrorAt(at, "yaml/tab", "", "ParallelCluster cannot read a tab here").WithHint("use blanks")
			}
			i += lineRest(d.data[i:])
		}
	}
}

// lineRest is the length of what is left of a line, without its end.
func lineRest(data []byte) int {
	if n := bytes.IndexByte(data, '\n'); n >= 0 {
		return n - 1
	}
	return len(data)
}

// region are the bytes from start up to end.
type region struct{ start, end int }

// texts are the quoted scalars and the blocks of text below a node. Far to the
// right of a line they are not looked for.
func (d *document) texts(n *yaml.Node, found []region) []region {
	if n.Kind == yaml.ScalarNode && n.Line > 0 && n.Line <= len(d.starts) && n.Column <= maxSource {
		switch start := d.offset(n.Line, n.Column); {
		case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
			found = append(found, region{start, start + quotedLength(d.data[start:])})
		case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
			found = append(found, region{start, d.blockEnd(n.Line)})
		}
	}
	for _, child := range n.Content {
		found = d.texts(child, found)
	}
	return found
}

// offset is the byte at a place.
func (t *lines) offset(line, column int) int {
	start := t.starts[line-1]
	for ; column > 1 && start < len(t.data); column-- {
		start++
		for start < len(t.data) && t.data[start]&0xc0 == 0x80 {
			start++
		}
	}
	return start
}

// quotedLength is the length of a quoted text, quotes included. A tag or an
// anchor may stand before it.
func quotedLength(data []byte) int {
	open := bytes.IndexAny(data, `'"`)
	if open < 0 {
		return 0
	}
	quote := data[open]
	for i := open + 1; i < len(data); i++ {
		switch {
		case data[i] == '\\' && quote == '"':
			i++
		case data[i] == quote && quote == '\'' && i+1 < len(data) && data[i+1] == '\'':
			i++
		case data[i] == quote:
			return i + 1
		}
	}
	return len(data)
}

// blockEnd is the end of the block of text that begins below a line: the lines
// that are blank, or indented as the first one or further.
func (d *document) blockEnd(line int) int {
	indent := -1
	for next := line; next < len(d.starts); next++ {
		end := len(d.data)
		if next+1 < len(d.starts) {
			end = d.starts[next+1]
		}
		text := d.data[d.starts[next]:end]
		blanks := len(text) - len(bytes.TrimLeft(text, " "))
		switch {
		case len(bytes.TrimSpace(text)) == 0:
		case indent < 0:
			indent = blanks
		case blanks < indent:
			return d.starts[next]
		}
	}
	return len(d.data)
}

// oldVersion makes our parser read a file that says it is YAML 1.2, or another
// 1.x, which PyYAML reads as 1.1.
func oldVersion(data []byte) []byte {
	if !bytes.Contains(data[:min(len(data), maxHead)], []byte("%YAML 1.")) {
		return data
	}
	out := bytes.Clone(data)
	for i := range out[:min(len(out), maxHead)] {
		if bytes.HasPrefix(out[i:], []byte("%YAML 1.")) && (i == 0 || out[i-1] == '\n') && i+9 <= len(out) && out[i+8] >= '0' && out[i+8] <= '9' {
			out[i+8] = '1'
		}
	}
	return out
}
