package layer

import (
	"cmp"
	"slices"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// arrangement is what goes where in the image: ranges of segments that are
// copied as they are, and fragment blocks that hold something which is not in
// the image, of which the rest is packed anew.
type arrangement struct {
	ranges    []span
	fragments []squashfs.Fragment // copied ones
	repack    []parts
	end       int64 // of the copied ranges
}

// span is a range of a layer's segment and where it goes.
type span struct {
	layer    uint32
	from, to int64
	size     int64
}

// parts are the contents to take out of one fragment block.
type parts struct {
	layer, fragment uint32
	contents        []uint32 // places in contents.list, by offset
}

// arrange places all contents but those that are packed anew. Layers come in
// their order, and what a layer has in its segment's order.
func arrange(c *contents) *arrangement {
	a := &arrangement{end: squashfs.DataStart}
	byLayer := make([][]uint32, len(c.layers))
	for n := range c.list {
		l := c.list[n].layer
		byLayer[l] = append(byLayer[l], uint32(n))
	}
	for l := range c.layers {
		a.layer(c, uint32(l), byLayer[l])
	}
	return a
}

// piece is a stretch of a segment that is copied: a file's blocks, or a
// fragment block.
type piece struct {
	start, size int64
	content     uint32 // of a file's blocks
	fragment    uint32 // noFragment: none
}

func (a *arrangement) layer(c *contents, l uint32, list []uint32) {
	segment, live := c.layers[l], c.live[l]
	var pieces []piece
	for f, used := range live {
		if at := segment.fragments[f]; used > 0 && used == at.size {
			pieces = append(pieces, piece{at.start, int64(squashfs.StoredSize(at.word)), 0, uint32(f)})
		}
	}
	for _, n := range list {
		if s := &c.list[n]; s.fragment == noFragment {
			pieces = append(pieces, piece{s.at, s.size, n, noFragment})
		}
	}
	slices.SortStableFunc(pieces, func(x, y piece) int { return cmp.Compare(x.start, y.start) })
	numbers := map[uint32]uint32{} // of copied fragment blocks
	for _, p := range pieces {
		to := a.copy(l, p.start, p.size)
		if p.fragment == noFragment {
			c.list[p.content].to, c.list[p.content].toFragment = to, noFragment
			continue
		}
		numbers[p.fragment] = uint32(len(a.fragments))
		a.fragments = append(a.fragments, squashfs.Fragment{Start: uint64(to), Word: segment.fragments[p.fragment].word})
	}
	a.small(c, l, list, numbers)
}

// small places contents in fragment blocks: where the block is copied, they
// stay in it.
func (a *arrangement) small(c *contents, l uint32, list []uint32, numbers map[uint32]uint32) {
	repack := map[uint32][]uint32{}
	for _, n := range list {
		s := &c.list[n]
		if s.fragment == noFragment {
			continue
		}
		if number, copied := numbers[s.fragment]; copied {
			s.to, s.toFragment = s.at, number
		} else {
			repack[s.fragment] = append(repack[s.fragment], n)
		}
	}
	for f := range c.live[l] {
		if list := repack[uint32(f)]; list != nil {
			slices.SortFunc(list, func(x, y uint32) int { return cmp.Compare(c.list[x].at, c.list[y].at) })
			a.repack = append(a.repack, parts{l, uint32(f), list})
		}
	}
}

// copy adds a range and returns where it goes.
func (a *arrangement) copy(layer uint32, from, size int64) int64 {
	to := a.end
	a.end += size
	if n := len(a.ranges); n > 0 {
		if last := &a.ranges[n-1]; last.layer == layer && last.from+last.size == from {
			last.size += size
			return to
		}
	}
	if size > 0 {
		a.ranges = append(a.ranges, span{layer, from, to, size})
	}
	return to
}
