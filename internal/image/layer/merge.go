package layer

import (
	"fmt"
	"path"
	"strings"
)

// merge makes the tree of an image from its layers, lowest first. It is a
// decision on indexes alone. Each layer is applied entry by entry, as an
// unpacker that works as root in an empty directory would:
//
//   - Parents are found through symlinks, which never lead out of the root;
//     parents that are missing are made. Below a file there is nothing.
//   - A directory that is there is only described anew; anything else that is
//     there goes, with all that is in it, and leaves other names of its inode
//     as they are.
//   - A whiteout removes what lower layers made, even if it comes late.
//   - The other end of a hard link has to be there.
func merge(layers []*segment) (*tree, error) {
	t := newTree(layers)
	for i, s := range layers {
		m := &merger{tree: t, layer: uint32(i)}
		d := &decoder{s: s.entries}
		var e entry
		for range s.foot.Count {
			at := uint32(d.at)
			d.next(&e)
			if d.bad {
				return nil, &Error{Digest: s.digest, Err: errCorrupt}
			}
			if err := m.apply(&e, at); err != nil {
				return nil, &Error{Digest: s.digest, Entry: e.name(), Err: err}
			}
		}
	}
	return t, nil
}

// merger applies one layer.
type merger struct {
	*tree
	layer uint32
	last  struct { // the directory that was found last
		dir     string
		found   place
		changes int
	}
}

// place is a directory's path as far as it exists, and what is missing.
type place struct {
	at      uint32
	missing []string
}

func (m *merger) apply(e *entry, at uint32) error {
	dir, err := m.resolve(e.dir)
	if err != nil {
		return err
	}
	switch e.kind {
	case kindWhiteout:
		if n := m.named(dir, e.base); n != none {
			m.whiteout(n)
		}
		return nil
	case kindOpaque:
		if len(dir.missing) == 0 {
			m.whiteoutBelow(dir.at)
		}
		return nil
	}
	if e.base == "" {
		m.inode(root).source = source{m.layer, at}
		return nil
	}
	return m.set(dir, e, at)
}

// set makes the entry's name, whatever was there.
func (m *merger) set(dir place, e *entry, at uint32) error {
	old := m.named(dir, e.base)
	if old != none && e.kind == kindDir && m.inode(old).kind == kindDir {
		m.inode(old).source = source{m.layer, at}
		m.touch(old, m.layer)
		return nil
	}
	parent, err := m.make(dir)
	if err != nil {
		return err
	}
	if old != none {
		m.remove(old)
	}
	var inodeAt uint32
	if e.kind == kindHardlink {
		if inodeAt, err = m.linked(e.link); err != nil {
			return err
		}
		m.inodes[inodeAt].links++
	} else {
		inodeAt = m.newInode(inode{source: source{m.layer, at}, kind: e.kind, links: 1})
	}
	if m.inodes[inodeAt].kind == kindSymlink {
		m.changes++
	}
	m.touch(m.add(parent, e.base, inodeAt), m.layer)
	return nil
}

// linked is the inode at the other end of a hard link.
func (m *merger) linked(name string) (uint32, error) {
	dir, base := path.Split(name)
	found, err := m.resolve(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return 0, err
	}
	n := m.named(found, base)
	if base == "" || n == none {
		return 0, fmt.Errorf("%w: a hard link to %.300q, which does not exist", ErrEntry, name)
	}
	if m.inode(n).kind == kindDir {
		return 0, fmt.Errorf("%w: a hard link to %.300q, which is a directory", ErrEntry, name)
	}
	return m.names[n].inodeAt, nil
}

// named finds a name in a directory, if both exist.
func (m *merger) named(dir place, base string) uint32 {
	if len(dir.missing) > 0 {
		return none
	}
	return m.child(dir.at, base)
}

// make makes the missing directories of a place.
func (m *merger) make(p place) (uint32, error) {
	if m.inode(p.at).kind != kindDir {
		return 0, fmt.Errorf("%w: it is below a file", ErrEntry)
	}
	for _, base := range p.missing {
		p.at = m.add(p.at, base, m.newInode(inode{source: source{layer: madeLayer}, kind: kindDir, links: 1}))
	}
	return p.at, nil
}

// whiteout removes a name, except what this layer has made below it.
func (m *merger) whiteout(n uint32) {
	if m.names[n].layer == m.layer+1 {
		m.whiteoutBelow(n)
		return
	}
	m.remove(n)
}

func (m *merger) whiteoutBelow(n uint32) {
	for c := m.names[n].firstChild; c != none; {
		next := m.names[c].next
		m.whiteout(c)
		c = next
	}
}

// Linux follows no more symlinks in one path, and takes no longer paths.
const (
	maxSymlinks = 40
	pathMax     = 4096
)

// resolve finds a directory from the root. Symlinks are followed as in a
// chroot: they never lead above the root. Parts that do not exist stay in the
// path, and ".." takes back the part before it.
func (m *merger) resolve(dir string) (place, error) {
	if m.last.dir == dir && m.last.changes == m.changes && len(m.last.found.missing) == 0 && m.last.found.at != none {
		return m.last.found, nil
	}
	p := place{at: root}
	rest, links := dir, 0
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		target := m.step(&p, part)
		if target == "" {
			continue
		}
		if strings.HasPrefix(target, "/") {
			p = place{at: root}
		}
		rest = target + "/" + rest
		if links++; links > maxSymlinks || len(rest) > 2*pathMax {
			return place{}, fmt.Errorf("%w: %.300q goes through too many symlinks", ErrEntry, dir)
		}
	}
	if length := m.depth(p); length > pathMax {
		return place{}, fmt.Errorf("%w: a path of %d bytes", ErrEntry, length)
	}
	m.last.dir, m.last.found, m.last.changes = dir, p, m.changes
	return p, nil
}

// step goes to the next part of a path. It returns the target of a symlink,
// which it leaves to the caller.
func (m *merger) step(p *place, part string) (target string) {
	switch {
	case part == "" || part == ".":
	case part == ".." && len(p.missing) > 0:
		p.missing = p.missing[:len(p.missing)-1]
	case part == "..":
		if p.at != root {
			p.at = m.names[p.at].parent
		}
	case len(p.missing) > 0:
		p.missing = append(p.missing, part)
	default:
		n := m.child(p.at, part)
		if n == none {
			p.missing = append(p.missing, part)
		} else if m.inode(n).kind == kindSymlink {
			return m.entry(m.inode(n)).link
		} else {
			p.at = n
		}
	}
	return ""
}

// depth is the length of a place's path in bytes.
func (m *merger) depth(p place) int {
	length := 0
	for n := p.at; n != root; n = m.names[n].parent {
		length += len(m.names[n].base) + 1
	}
	for _, part := range p.missing {
		length += len(part) + 1
	}
	return length
}
