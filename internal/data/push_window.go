package data

import (
	"fmt"
	"sync"

	"github.com/muster-hpc/muster/internal/data/manifest"
)

// windowSlots are how many files may be on their way between the first that is not there yet and the last that is begun.
const windowSlots = 32_768

// outgoing is the manifest that a push writes. Its records come in any order and leave in that of their paths.
type outgoing struct {
	file *scratch
	to   *manifest.Writer

	mu    sync.Mutex // guards what follows, and to
	room  sync.Cond  // there is room in the window, or an error
	slots []*slot    // in the order of their paths, from the first one that is not filled
	err   error
	files int64
	bytes int64

	former *scratch // the committed manifest
	parted bool     // from it: until then nothing is written, as what there is so far is its beginning
}

// slot is the place of a record.
type slot struct {
	record manifest.Record
	filled bool
}

func newOutgoing(dir string, former *scratch) (*outgoing, error) {
	s, err := newScratch(dir)
	if err != nil {
		return nil, err
	}
	w := &outgoing{file: s, to: manifest.NewWriter(s.file), former: former}
	w.room.L = &w.mu
	return w, nil
}

func (w *outgoing) close() error {
	if w == nil {
		return nil
	}
	return w.file.close()
}

// keep adds the next record of the committed manifest.
func (w *outgoing) keep(r manifest.Record) error {
	if w.parted {
		return w.add(r)
	}
	w.files++
	w.bytes += r.SizeBytes
	return nil
}

// part says that what follows is not what the committed manifest has: its beginning is written now. Like keep it is for
// who takes up the steps, before whom nobody else writes.
func (w *outgoing) part() error {
	if w.parted {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parted = true
	n := w.files
	w.files, w.bytes = 0, 0
	if n == 0 {
		return nil
	}
	for r, err := range w.former.records() {
		if err != nil {
			return err
		}
		if w.write(r); w.files == n || w.err != nil {
			break
		}
	}
	return w.err
}

// slot takes the next place, when there is room.
func (w *outgoing) slot() (*slot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.slots) >= windowSlots && w.err == nil {
		w.room.Wait()
	}
	s := &slot{}
	w.slots = append(w.slots, s)
	return s, w.err
}

// fill gives a place its record. One without a path leaves it empty.
func (w *outgoing) fill(s *slot, r manifest.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.record, s.filled = r, true
	n := 0
	for n < len(w.slots) && w.slots[n].filled {
		w.write(w.slots[n].record)
		n++
	}
	clear(w.slots[:n])
	w.slots = w.slots[n:]
	if n > 0 {
		w.room.Broadcast()
	}
}

// add takes the next place and fills it.
func (w *outgoing) add(r manifest.Record) error {
	s, err := w.slot()
	if err != nil {
		return err
	}
	w.fill(s, r)
	return nil
}

// fail ends the wait for room.
func (w *outgoing) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.room.Broadcast()
}

func (w *outgoing) write(r manifest.Record) {
	if r.Path == "" || w.err != nil {
		return
	}
	if w.err = w.to.Write(r); w.err != nil {
		return
	}
	w.files++
	w.bytes += r.SizeBytes
}

// end ends the manifest, and returns its length.
func (w *outgoing) end() (size int64, err error) {
	if err := w.part(); err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.to.Close()
	}
	if w.err != nil {
		return 0, fmt.Errorf("write the manifest beside the journal: %w", w.err)
	}
	info, err := w.file.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
