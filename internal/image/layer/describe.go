package layer

import (
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// describer writes a tree's inodes and directories, the deepest first.
type describer struct {
	*tree
	contents *contents
	options  Options
	out      *squashfs.Writer
	linked   map[uint32]squashfs.Ref // inodes that have several names, once written
	number   uint32                  // of the last inode
	inodes   uint32                  // how many there will be
	result   Result
	names    []uint32 // scratch of children, used as a stack
	entries  []squashfs.Entry
	decoder  decoder
}

// describe writes the tables of an image.
func describe(t *tree, c *contents, o Options, out *squashfs.Writer) (Result, error) {
	d := &describer{tree: t, contents: c, options: o, out: out, linked: map[uint32]squashfs.Ref{}}
	for i := range t.inodes {
		if t.inodes[i].links > 0 {
			d.inodes++
		}
	}
	d.result = Result{Uncompressed: c.bytes, Duplicates: c.duplicates, Inodes: int(d.inodes), OnlyRoot: true}
	rootRef, err := d.directory(root, d.inodes+1)
	if err != nil {
		return Result{}, err
	}
	d.result.BytesUsed, err = out.Close(rootRef)
	return d.result, err
}

// directory writes a directory and all below it.
func (d *describer) directory(n, parent uint32) (squashfs.Ref, error) {
	d.number++
	d.result.Entries++
	number := d.number
	from, first := len(d.names), len(d.entries)
	d.names = d.children(n, d.names)
	to := len(d.names)
	subdirectories := uint32(0)
	for i := from; i < to; i++ {
		child := d.names[i]
		write := d.other
		if d.inode(child).kind == kindDir {
			write = d.directory
			subdirectories++
		}
		ref, err := write(child, number)
		if err != nil {
			return squashfs.Ref{}, err
		}
		d.entries = append(d.entries, squashfs.Entry{Name: d.tree.names[child].base, Ref: ref})
	}
	i := d.inodeOf(n)
	i.Number, i.Links = number, 2+subdirectories
	ref, err := d.out.Directory(i, d.entries[first:], parent)
	d.names, d.entries = d.names[:from], d.entries[:first]
	return ref, d.about(n, err)
}

// other writes what is no directory, once for all its names.
func (d *describer) other(n, _ uint32) (squashfs.Ref, error) {
	d.result.Entries++
	at := d.tree.names[n].inodeAt
	if ref, done := d.linked[at]; done {
		return ref, nil
	}
	d.number++
	i := d.inodeOf(n)
	i.Number, i.Links = d.number, d.inode(n).links
	ref, err := d.out.Inode(i)
	if i.Links > 1 {
		d.linked[at] = ref
	}
	return ref, d.about(n, err)
}

// about adds a name's layer and path to an error.
func (d *describer) about(n uint32, err error) error {
	if err == nil {
		return nil
	}
	path := ""
	for at := n; at != root; at = d.tree.names[at].parent {
		path = "/" + d.tree.names[at].base + path
	}
	if s := d.inode(n).source; s.layer != madeLayer {
		return &Error{Digest: d.layers[s.layer].digest, Entry: path, Err: err}
	}
	return fmt.Errorf("directory %.300q: %w", path, err)
}

var types = map[kind]squashfs.Type{
	kindFile: squashfs.File, kindDir: squashfs.Dir, kindSymlink: squashfs.Symlink,
	kindChar: squashfs.CharDevice, kindBlock: squashfs.BlockDevice, kindFifo: squashfs.Fifo,
}

// inodeOf describes a name's inode. Directories that no layer describes belong
// to root and have the image's time; the root itself has none.
func (d *describer) inodeOf(n uint32) *squashfs.Inode {
	in := d.inode(n)
	if in.source.layer == madeLayer {
		i := &squashfs.Inode{Type: squashfs.Dir, Mode: 0o755}
		if n != root {
			i.ModTime = unixSeconds(d.options.Time)
		}
		return i
	}
	var e entry
	d.decoder.s, d.decoder.at = d.layers[in.source.layer].entries, int(in.source.at)
	d.decoder.next(&e)
	i := &squashfs.Inode{
		Type: types[in.kind], Mode: e.mode, ModTime: e.mtime, Xattrs: e.xattrs,
		Target: e.link, Major: e.major, Minor: e.minor,
	}
	if d.options.Owners == KeepOwners {
		i.UID, i.GID = e.uid, e.gid
	}
	d.result.OnlyRoot = d.result.OnlyRoot && i.UID == 0 && i.GID == 0
	if in.kind == kindFile {
		i.Content = d.content(d.tree.names[n].inodeAt, &e.content)
	}
	return i
}

// content says where a file's content is in the image.
func (d *describer) content(inodeAt uint32, e *content) squashfs.Content {
	c := squashfs.Content{Size: uint64(e.size), Fragment: noFragment}
	if e.size == 0 {
		return c
	}
	s := &d.contents.list[d.contents.of[inodeAt]-1]
	if c.Fragment = s.toFragment; c.Fragment != noFragment {
		c.Offset = uint32(s.to)
		return c
	}
	c.Start, c.Blocks = uint64(s.to), e.words
	return c
}

func unixSeconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
