package checkpoint

import (
	"path"
	"time"
)

// Reader returns the bytes of parts of files, in their order: nil for what is gone or cannot be read, which says nothing then.
type Reader func([]Span) ([][]byte, error)

// Look returns a checkpoint with what is read of it: first the beginnings of files that name others, and if by these nothing is
// missing, what each file says of its own length. Files that m knows are not read again; it may be nil.
func Look(s Set, by func(Set) Verdict, m *Memory, read Reader) (Set, error) {
	clues := clues(s.Files)
	texts, err := read(clues)
	if err != nil {
		return s, err
	}
	s.Begins = map[string][]byte{}
	for i, c := range clues {
		s.Begins[c.Path] = texts[i]
	}
	if by(s).Torn == "" {
		s.Contents, err = s.contents(m, read)
	}
	return s, err
}

// asked is a file with the question that is open.
type asked struct {
	file File
	*question
}

// contents asks all files at once, until all have answered.
func (s Set) contents(m *Memory, read Reader) (map[string]Content, error) {
	read = s.beginsFirst(read)
	known := map[string]Content{}
	var open []asked
	for _, f := range s.Files {
		if c, ok := m.recall(s.Dir, f); ok {
			known[f.Path] = c
		} else if q := ask(f); q != nil {
			open = append(open, asked{f, q})
		}
	}
	for len(open) > 0 {
		spans := make([]Span, len(open))
		for i, a := range open {
			spans[i] = Span{a.file.Path, a.from, a.bytes}
		}
		texts, err := read(spans)
		if err != nil {
			return nil, err
		}
		var more []asked
		for i, a := range open {
			if int64(len(texts[i])) != a.bytes {
				continue // it is another file by now
			}
			c, next := a.answer(texts[i])
			if next != nil {
				more = append(more, asked{a.file, next})
				continue
			}
			if known[a.file.Path] = c; c.Torn == "" {
				m.keep(s.Dir, a.file, c) // what is torn may be on its way from another machine
			}
		}
		open = more
	}
	return known, nil
}

// beginsFirst reads what is not known already: files that name others were read whole.
func (s Set) beginsFirst(read Reader) Reader {
	whole := map[string][]byte{}
	for _, f := range s.Files {
		if b := s.Begins[f.Path]; int64(len(b)) == f.SizeBytes {
			whole[f.Path] = b
		}
	}
	return func(spans []Span) ([][]byte, error) {
		texts := make([][]byte, len(spans))
		var rest []Span
		var at []int
		for i, span := range spans {
			if b, known := whole[span.Path]; known {
				texts[i] = b[span.From : span.From+span.Bytes]
				continue
			}
			rest, at = append(rest, span), append(at, i)
		}
		if len(rest) == 0 {
			return texts, nil
		}
		more, err := read(rest)
		if err != nil {
			return nil, err
		}
		for i, text := range more {
			texts[at[i]] = text
		}
		return texts, nil
	}
}

// Memory has what files said of themselves, of one tree of files. It forgets those that two sweeps in a row did not ask for.
type Memory struct{ now, before map[memo]Content }

// memo is a file that did not change.
type memo struct {
	path    string
	bytes   int64
	changed time.Time
}

func memoOf(dir string, f File) memo {
	return memo{path.Join(dir, f.Path), f.SizeBytes, f.Changed.UTC()}
}

// Sweep begins to ask for all files.
func (m *Memory) Sweep() { m.before, m.now = m.now, map[memo]Content{} }

func (m *Memory) recall(dir string, f File) (Content, bool) {
	if m == nil {
		return Content{}, false
	}
	c, ok := m.now[memoOf(dir, f)]
	if !ok {
		if c, ok = m.before[memoOf(dir, f)]; ok {
			m.keep(dir, f, c)
		}
	}
	return c, ok
}

func (m *Memory) keep(dir string, f File, c Content) {
	if m == nil {
		return
	}
	if m.now == nil {
		m.now = map[memo]Content{}
	}
	m.now[memoOf(dir, f)] = c
}
