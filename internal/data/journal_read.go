package data

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"github.com/muster-hpc/muster/internal/data/manifest"
)

// notes are what a journal says, one for each path, in the order of paths. Its lines are nearly in that order, but a
// journal may be longer than the memory: what does not fit is sorted in pieces. Lines that are torn are passed over.
func (j *journal) notes() iter.Seq2[note, error] {
	return func(yield func(note, error) bool) {
		pile := pile{dir: filepath.Dir(j.path), most: pileBytes}
		defer pile.close()
		if err := j.read(pile.add); err != nil {
			yield(note{}, fmt.Errorf("read the journal: %w", err))
			return
		}
		var last note
		for n, err := range pile.sorted() {
			if err != nil {
				yield(note{}, fmt.Errorf("sort the journal: %w", err))
				return
			}
			switch {
			case n.Path == last.Path:
				last = last.then(n)
			case last.Path != "" && !yield(last, nil):
				return
			default:
				last = n
			}
		}
		if last.Path != "" {
			yield(last, nil)
		}
	}
}

// then is what two notes of a path say, the second of which is the later one. A record ends an upload.
func (n note) then(later note) note {
	if later.Record == nil {
		later.Record = n.Record
	}
	return later
}

// read reads the journal from its beginning.
func (j *journal) read(each func(note) error) error {
	lines := bufio.NewReaderSize(io.NewSectionReader(j.file, 0, 1<<62), 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if n, ok := readNote(line); ok {
			if err := each(n); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func readNote(line []byte) (note, bool) {
	var n note
	line = bytes.TrimSpace(line)
	if len(line) == 0 || json.Unmarshal(line, &n) != nil || manifest.CheckPath(n.Path) != nil {
		return note{}, false
	}
	if n.Record != nil && n.Record.Path != n.Path {
		return note{}, false
	}
	return n, n.Record != nil || n.Begun != nil
}
