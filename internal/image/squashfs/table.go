package squashfs

import (
	"fmt"
	"math"
)

// ids is the table of users and groups; inodes hold places in it.
type ids struct {
	list   []uint32
	places map[uint32]uint16
}

func (t *ids) index(id uint32) (uint16, error) {
	if place, ok := t.places[id]; ok {
		return place, nil
	}
	if len(t.list) == math.MaxUint16 {
		return 0, fmt.Errorf("more than %d users and groups: %w", math.MaxUint16, ErrTooBig)
	}
	place := uint16(len(t.list))
	t.list = append(t.list, id)
	t.places[id] = place
	return place, nil
}

func (t *ids) bytes() []byte {
	b := make([]byte, 0, 4*len(t.list))
	for _, id := range t.list {
		b = le.AppendUint32(b, id)
	}
	return b
}

// export is the table from an inode's number to its place, which NFS and
// file handles need.
type export []uint64

func (t *export) add(number uint32, place ref) {
	for uint32(len(*t)) < number {
		*t = append(*t, absent)
	}
	(*t)[number-1] = place.packed()
}

// Fragment is a stored fragment block.
type Fragment struct {
	Start uint64
	Word  uint32
}

// table writes fixed-size records in metadata blocks, and after them where
// each block begins. It returns where that list begins.
func (w *Writer) table(records func(*metadata)) (uint64, error) {
	base := w.position
	m := &metadata{out: w.out, enc: w.enc}
	records(m)
	if err := m.flush(); err != nil {
		return 0, err
	}
	list := make([]byte, 0, 8*len(m.starts))
	for _, start := range m.starts {
		list = le.AppendUint64(list, uint64(base+start))
	}
	w.position += m.written
	start := uint64(w.position)
	n, err := w.out.Write(list)
	w.position += int64(n)
	return start, err
}

func (w *Writer) fragmentTable() (uint64, error) {
	if len(w.fragments) == 0 {
		return absent, nil
	}
	return w.table(func(m *metadata) {
		for _, f := range w.fragments {
			m.write(le.AppendUint64(le.AppendUint64(nil, f.Start), uint64(f.Word)))
		}
	})
}

func (w *Writer) exportTable() (uint64, error) {
	return w.table(func(m *metadata) {
		var b [8]byte
		for _, place := range w.export {
			le.PutUint64(b[:], place)
			m.write(b[:])
		}
	})
}

func (w *Writer) idTable() (uint64, error) {
	return w.table(func(m *metadata) { m.write(w.ids.bytes()) })
}
