package squashfs

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// Xattr is an extended attribute with its full name, such as "user.comment".
type Xattr struct{ Name, Value string }

// prefixes of the names that squashfs can hold, by their numbers.
var prefixes = []string{"user.", "trusted.", "security."}

// Storable says whether squashfs can hold an attribute of this name.
func Storable(name string) bool {
	_, _, ok := split(name)
	return ok && len(name) <= XattrNameMax
}

func split(name string) (kind uint16, rest string, ok bool) {
	for i, prefix := range prefixes {
		if rest, found := strings.CutPrefix(name, prefix); found && rest != "" {
			return uint16(i), rest, true
		}
	}
	return 0, "", false
}

// xattrs are the sets of attributes, each stored once.
type xattrs struct {
	pairs metadata
	out   bytes.Buffer
	sets  []xattrSet
	known map[string]uint32
}

type xattrSet struct {
	place       ref
	count, size uint32
}

// set returns the number of a set of attributes, which it writes if it is new.
func (x *xattrs) set(list []Xattr) (uint32, error) {
	if len(list) == 0 {
		return noXattrs, nil
	}
	var b []byte
	for _, a := range list {
		kind, rest, ok := split(a.Name)
		if !ok || len(a.Name) > XattrNameMax || len(a.Value) > XattrValueMax {
			return 0, fmt.Errorf("extended attribute %q of %d bytes: %w", a.Name, len(a.Value), ErrTooBig)
		}
		b = le.AppendUint16(b, kind)
		b = le.AppendUint16(b, uint16(len(rest)))
		b = append(b, rest...)
		b = le.AppendUint32(b, uint32(len(a.Value)))
		b = append(b, a.Value...)
	}
	if n, ok := x.known[string(b)]; ok {
		return n, nil
	}
	if len(x.sets) == math.MaxInt32 {
		return 0, fmt.Errorf("sets of extended attributes: %w", ErrTooBig)
	}
	n := uint32(len(x.sets))
	x.sets = append(x.sets, xattrSet{x.pairs.at(), uint32(len(list)), uint32(len(b))})
	x.pairs.write(b)
	x.known[string(b)] = n
	return n, x.pairs.err
}

// xattrTable writes the pairs, the sets and a header, which is where the
// superblock points to.
func (w *Writer) xattrTable() (uint64, error) {
	x := &w.xattrs
	if len(x.sets) == 0 {
		return absent, nil
	}
	pairs := w.position
	if err := x.pairs.flush(); err != nil {
		return 0, err
	}
	n, err := w.out.Write(x.out.Bytes())
	w.position += int64(n)
	if err != nil {
		return 0, err
	}
	header := le.AppendUint32(le.AppendUint32(le.AppendUint64(nil, uint64(pairs)), uint32(len(x.sets))), 0)
	sets := &metadata{out: w.out, enc: w.enc}
	base := w.position
	for _, s := range x.sets {
		b := le.AppendUint64(nil, s.place.packed())
		sets.write(le.AppendUint32(le.AppendUint32(b, s.count), s.size))
	}
	if err := sets.flush(); err != nil {
		return 0, err
	}
	for _, start := range sets.starts {
		header = le.AppendUint64(header, uint64(base+start))
	}
	start := w.position + sets.written
	_, err = w.out.Write(header)
	w.position = start + int64(len(header))
	return uint64(start), err
}
