package layer

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// contents are the different contents of a tree's files, and where they lie.
type contents struct {
	layers []*segment
	list   []stored
	of     []uint32 // by inode: 1 + place in list; 0: none
	// live counts the bytes that are used of each layer's fragment blocks.
	live [][]uint32
	// files and duplicates count inodes with content; bytes is the sum of sizes.
	files, duplicates int
	bytes             int64
}

// stored is a content that is stored once.
type stored struct {
	layer uint32
	key   uint32 // where its key is in the layer's index
	// at and size are where it is in its segment, or in a fragment block there.
	at, size int64
	fragment uint32 // noFragment: it has blocks of its own
	// to and toFragment are where it goes in the image.
	to         int64
	toFragment uint32
}

const noFragment = squashfs.NoFragment

// collect finds the contents that a tree has, in the order of layers and of
// entries in them, so that what is read later is read forwards.
func collect(t *tree) *contents {
	c := &contents{layers: t.layers, of: make([]uint32, len(t.inodes)), live: make([][]uint32, len(t.layers))}
	for i, s := range t.layers {
		c.live[i] = make([]uint32, len(s.fragments))
	}
	var files []uint32
	for i := range t.inodes {
		if in := &t.inodes[i]; in.kind == kindFile && in.links > 0 {
			files = append(files, uint32(i))
		}
	}
	slices.SortFunc(files, func(a, b uint32) int {
		x, y := t.inodes[a].source, t.inodes[b].source
		return cmp.Or(cmp.Compare(x.layer, y.layer), cmp.Compare(x.at, y.at))
	})
	c.list = make([]stored, 0, len(files))
	seen := newSeen(c, len(files))
	d := &decoder{}
	for _, i := range files {
		var e entry
		s := t.inodes[i].source
		d.s, d.at = c.layers[s.layer].entries, int(s.at)
		d.next(&e)
		c.add(seen, i, s.layer, &e.content)
	}
	return c
}

// add notes the content of an inode.
func (c *contents) add(seen *seen, inodeAt, layer uint32, e *content) {
	c.bytes += e.size
	if e.size == 0 {
		return
	}
	c.files++
	n, known := seen.find(e)
	c.of[inodeAt] = n + 1
	if known {
		c.duplicates++
		return
	}
	s := stored{layer: layer, key: e.keyAt, at: int64(e.offset), size: e.size, fragment: e.fragment}
	if e.small() {
		c.live[layer][e.fragment] += uint32(e.size)
	} else {
		s.at, s.size, s.fragment = e.start, 0, noFragment
		for _, word := range e.words {
			s.size += int64(squashfs.StoredSize(word))
		}
	}
	c.list = append(c.list, s)
}

// keyOf is a content's key.
func (c *contents) keyOf(s *stored) string {
	return c.layers[s.layer].entries[s.key : s.key+keySize]
}

// seen finds contents by their keys. Keys of small and of large files are made
// in different ways, so it looks at that, too.
type seen struct {
	*contents
	table []uint32 // open addressing from key to 1 + place in contents.list
}

func newSeen(c *contents, n int) *seen {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return &seen{contents: c, table: make([]uint32, size)}
}

// find returns the place of a content, which is the next one if it is new.
func (s *seen) find(e *content) (uint32, bool) {
	mask := uint64(len(s.table) - 1)
	i := binary.LittleEndian.Uint64([]byte(e.key[:8])) & mask
	for ; s.table[i] != 0; i = (i + 1) & mask {
		n := s.table[i] - 1
		if have := &s.list[n]; s.keyOf(have) == e.key && (have.fragment == noFragment) != e.small() {
			return n, true
		}
	}
	s.table[i] = uint32(len(s.list)) + 1
	return uint32(len(s.list)), false
}
