package layer

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/muster-hpc/muster/internal/squashfs"
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
	source source
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
	seen := newSeen(len(files))
	d := &decoder{}
	for _, i := range files {
		var e entry
		s := t.inodes[i].source
		d.s, d.at = c.layers[s.layer].entries, int(s.at)
		d.next(&e)
		c.add(seen, i, s, &e.content)
	}
	return c
}

// add notes the content of an inode.
func (c *contents) add(seen *seen, inodeAt uint32, s source, e *content) {
	c.bytes += e.size
	if e.size == 0 {
		return
	}
	c.files++
	n, known := seen.find(e, uint32(len(c.list)))
	c.of[inodeAt] = n + 1
	if known {
		c.duplicates++
		return
	}
	if e.small() {
		c.live[s.layer][e.fragment] += uint32(e.size)
		c.list = append(c.list, stored{source: s, at: int64(e.offset), size: e.size, fragment: e.fragment})
		return
	}
	var size int64
	for _, word := range e.words {
		size += int64(squashfs.StoredSize(word))
	}
	c.list = append(c.list, stored{source: s, at: e.start, size: size, fragment: noFragment})
}

// seen finds contents by size and key. It holds numbers and keys' places only:
// keys lie in the indexes.
type seen struct {
	table []uint32 // open addressing from key to 1 + number
	keys  []string
	sizes []int64
}

func newSeen(n int) *seen {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return &seen{table: make([]uint32, size)}
}

// find returns the number of a content, which is number if it is new.
func (s *seen) find(c *content, number uint32) (uint32, bool) {
	mask := uint64(len(s.table) - 1)
	i := binary.LittleEndian.Uint64([]byte(c.key[:8])) & mask
	for ; s.table[i] != 0; i = (i + 1) & mask {
		if n := s.table[i] - 1; s.keys[n] == c.key && s.sizes[n] == c.size {
			return n, true
		}
	}
	s.table[i] = number + 1
	s.keys, s.sizes = append(s.keys, c.key), append(s.sizes, c.size)
	return number, false
}
