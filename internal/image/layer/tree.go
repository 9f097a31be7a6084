package layer

import (
	"hash/maphash"
	"slices"
	"strings"
)

// tree is an image's file tree as layers make it. Names and inodes are numbers,
// and names share memory with the layers' indexes, because trees may be large.
// The root is name 1; 0 is none.
type tree struct {
	layers []*segment
	names  []name
	inodes []inode
	table  []uint32 // open addressing from (parent, base) to a name
	filled int      // places of table that are or were used
	seed   maphash.Seed
	// changes counts what may lead a path elsewhere: names that went, symlinks
	// that came.
	changes int
}

// name is a directory entry.
type name struct {
	base                string
	parent, prev, next  uint32
	firstChild, inodeAt uint32
	layer               uint32 // 1 + the last layer that made it or something below it
}

// inode is a file or directory: what an entry of a layer says.
type inode struct {
	source source
	kind   kind
	links  uint32
}

// source is an entry's place: its layer, and where in the layer's index.
type source struct{ layer, at uint32 }

const (
	none      = 0
	root      = 1
	gone      = ^uint32(0) // a place of table whose name went
	madeLayer = ^uint32(0) // the layer of directories that no layer describes
)

func newTree(layers []*segment) *tree {
	room := root + 1
	for _, s := range layers {
		room += int(s.foot.Count)
	}
	t := &tree{layers: layers, seed: maphash.MakeSeed(), table: make([]uint32, 1<<10)}
	t.names, t.inodes = make([]name, root+1, room), make([]inode, 0, room)
	t.inodes = append(t.inodes, inode{source: source{madeLayer, 0}, kind: kindDir, links: 1})
	return t
}

func (t *tree) slot(parent uint32, base string) uint32 {
	return uint32(maphash.String(t.seed, base)) ^ parent*2654435761
}

// child finds a name in a directory; none if there is none.
func (t *tree) child(parent uint32, base string) uint32 {
	mask := uint32(len(t.table) - 1)
	for i := t.slot(parent, base) & mask; ; i = (i + 1) & mask {
		n := t.table[i]
		if n == none {
			return none
		}
		if n != gone && t.names[n].parent == parent && t.names[n].base == base {
			return n
		}
	}
}

// add makes a name. The caller has looked: the tree does not have it.
func (t *tree) add(parent uint32, base string, inodeAt uint32) uint32 {
	if 4*(t.filled+1) > 3*len(t.table) {
		t.grow()
	}
	n := uint32(len(t.names))
	next := t.names[parent].firstChild
	t.names = append(t.names, name{base: base, parent: parent, next: next, inodeAt: inodeAt})
	if next != none {
		t.names[next].prev = n
	}
	t.names[parent].firstChild = n
	t.enter(n)
	return n
}

func (t *tree) enter(n uint32) {
	mask := uint32(len(t.table) - 1)
	i := t.slot(t.names[n].parent, t.names[n].base) & mask
	for t.table[i] != none {
		i = (i + 1) & mask
	}
	t.table[i] = n
	t.filled++
}

// grow makes a new table with twice the names' room.
func (t *tree) grow() {
	old := t.table
	live := 0
	for _, n := range old {
		if n != none && n != gone {
			live++
		}
	}
	size := len(old)
	if 2*live > size {
		size *= 2
	}
	t.table, t.filled = make([]uint32, size), 0
	for _, n := range old {
		if n != none && n != gone {
			t.enter(n)
		}
	}
}

// remove takes away a name and all below it.
func (t *tree) remove(n uint32) {
	t.changes++
	at := &t.names[n]
	if at.prev != none {
		t.names[at.prev].next = at.next
	} else {
		t.names[at.parent].firstChild = at.next
	}
	if at.next != none {
		t.names[at.next].prev = at.prev
	}
	t.forget(n)
}

func (t *tree) forget(n uint32) {
	for c := t.names[n].firstChild; c != none; c = t.names[c].next {
		t.forget(c)
	}
	mask := uint32(len(t.table) - 1)
	i := t.slot(t.names[n].parent, t.names[n].base) & mask
	for t.table[i] != n {
		i = (i + 1) & mask
	}
	t.table[i] = gone
	t.inode(n).links--
}

func (t *tree) inode(n uint32) *inode { return &t.inodes[t.names[n].inodeAt] }

// newInode adds an inode and returns its place.
func (t *tree) newInode(i inode) uint32 {
	t.inodes = append(t.inodes, i)
	return uint32(len(t.inodes) - 1)
}

// touch marks a name and its parents as made by a layer.
func (t *tree) touch(n, layer uint32) {
	for ; n != root && n != none; n = t.names[n].parent {
		t.names[n].layer = layer + 1
	}
}

// children are the names in a directory, sorted bytewise, appended to list.
func (t *tree) children(n uint32, list []uint32) []uint32 {
	from := len(list)
	for c := t.names[n].firstChild; c != none; c = t.names[c].next {
		list = append(list, c)
	}
	slices.SortFunc(list[from:], func(a, b uint32) int { return strings.Compare(t.names[a].base, t.names[b].base) })
	return list
}

// entry is what a layer says about an inode. The directory part of its name is
// not known. It is nil for directories that no layer describes.
func (t *tree) entry(i *inode) *entry {
	if i.source.layer == madeLayer {
		return nil
	}
	d := decoder{s: t.layers[i.source.layer].entries, at: int(i.source.at)}
	e := &entry{}
	d.next(e)
	return e
}
