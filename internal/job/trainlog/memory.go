package trainlog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Memory is what a reader knows of the lines that it has read: with it and its Next another one goes on as if it had read
// them itself. It may be kept as JSON. How often a sign came is forgotten.
type Memory struct {
	Blocks []blockMemory `json:"blocks,omitempty"`
	Bars   *barsMemory   `json:"bars,omitempty"`
	// General is of lines that no format describes.
	General *general `json:"general,omitempty"`
	// Held is the beginning of a line of which more has to come, and End where that is to come from.
	Held []byte `json:"held,omitempty"`
	End  int64  `json:"end,omitempty"`
}

type blockMemory struct {
	Table                   bool `json:"table,omitempty"`
	Ignored                 bool `json:"ignored,omitempty"`
	Task, Rank, Local, From int
	Before                  []byte `json:"before,omitempty"`
	Indent                  int    `json:"indent,omitempty"`
	Lines                   int    `json:"lines,omitempty"`
	First                   Sign   `json:"first"`
	Entry                   Sign   `json:"entry"`
	Begun                   bool   `json:"begun,omitempty"`
	Root                    bool   `json:"root,omitempty"`
}

type barsMemory struct {
	Total  int64   `json:"total,omitempty"`
	Done   int64   `json:"done,omitempty"`
	Dicts  bool    `json:"dicts,omitempty"`
	Held   *Sample `json:"held,omitempty"`
	Value  string  `json:"value,omitempty"`
	Eval   Value   `json:"eval"`
	Seen   Sample  `json:"seen"`
	Told   Sample  `json:"told"`
	Label  string  `json:"label,omitempty"`
	Count  int64   `json:"count,omitempty"`
	Of     int64   `json:"of,omitempty"`
	Epochs int64   `json:"epochs,omitempty"`
	// Columns is of a table whose rows are labels.
	Columns columns `json:"columns,omitempty"`
}

// Memory is what the reader knows now; nil is nothing.
func (r *Reader) Memory() *Memory {
	r.begin()
	var m Memory
	for _, b := range r.state.blocks {
		m.Blocks = append(m.Blocks, blockMemory{
			Table: b.table, Ignored: b.ignored, Task: b.origin.task, Rank: b.origin.rank, Local: b.origin.localRank, From: b.origin.prefix,
			Before: b.before, Indent: b.indent, Lines: b.lines, First: b.first, Entry: b.entry, Begun: b.begun, Root: b.root,
		})
	}
	if b := r.state.bars; b != (bars{}) {
		m.Bars = &barsMemory{
			Total: b.total, Done: b.done, Dicts: b.dicts, Value: b.value, Eval: b.eval, Seen: b.seen, Told: b.told,
			Label: b.plain.label, Count: b.plain.done, Of: b.plain.total, Epochs: b.plain.epochs,
			Columns: b.columns,
		}
		if b.held != nil {
			held := *b.held
			m.Bars.Held = &held
		}
	}
	m.General = r.state.general.copy()
	if len(r.held) > 0 {
		m.Held, m.End = slices.Clone(r.held), r.end
	}
	if m.Blocks == nil && m.Bars == nil && m.General == nil && m.Held == nil {
		return nil
	}
	return &m
}

// recall takes in what another reader knew.
func (r *Reader) recall(m *Memory) {
	if m == nil {
		return
	}
	for _, b := range m.Blocks[:min(len(m.Blocks), mostBlocks)] {
		r.state.blocks = append(r.state.blocks, &block{
			table: b.Table, ignored: b.Ignored, origin: origin{prefix: b.From, task: b.Task, rank: b.Rank, localRank: b.Local},
			before: slices.Clone(b.Before), indent: b.Indent, lines: b.Lines, first: b.First, entry: b.Entry, begun: b.Begun, root: b.Root,
		})
	}
	if b := m.Bars; b != nil {
		r.state.bars = bars{
			total: b.Total, done: b.Done, dicts: b.Dicts, value: b.Value, eval: b.Eval, seen: b.Seen, told: b.Told,
			plain: plain{label: b.Label, done: b.Count, total: b.Of, epochs: b.Epochs}, columns: b.Columns,
		}
		if b.Held != nil {
			held := *b.Held
			r.state.bars.held = &held
		}
	}
	if g := m.General.copy(); g != nil {
		g.Courses, g.Evals = g.Courses[:min(len(g.Courses), mostCourses)], g.Evals[:min(len(g.Evals), mostEvals)]
		r.state.general = *g
	}
	if len(m.Held) > 0 && m.End > r.next.Offset {
		r.held, r.end = slices.Clone(m.Held[:min(len(m.Held), mostLine)]), m.End
	}
}

// MarshalJSON writes a value that may be none of JSON's numbers.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Known {
		return []byte("null"), nil
	}
	return json.Marshal(strconv.FormatFloat(v.Float, 'g', -1, 64))
}

// UnmarshalJSON reads one.
func (v *Value) UnmarshalJSON(data []byte) error {
	*v = Value{}
	if string(data) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%q is no value", clip([]byte(text)))
	}
	*v = Some(f)
	return nil
}
