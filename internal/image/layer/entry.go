package layer

import (
	"archive/tar"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// kind is what an entry of a layer is.
type kind byte

const (
	kindFile kind = iota
	kindDir
	kindSymlink
	kindHardlink
	kindChar
	kindBlock
	kindFifo
	kindWhiteout // removes Base from lower layers
	kindOpaque   // removes all that lower layers have in Dir
)

// entry is what a layer says about one name.
type entry struct {
	kind kind
	// dir and base are the name below the root, cleaned; dir is "" at the root,
	// and the root itself has both "".
	dir, base    string
	mode         uint16
	uid, gid     uint32
	mtime        int64
	xattrs       []squashfs.Xattr
	link         string // target of a symlink, cleaned name of a hard link's other end
	major, minor uint32
	content      content
}

// content says where a file's bytes are in its segment.
type content struct {
	size int64
	// key is the same for equal contents alone; keyAt is its place in the index.
	key   string
	keyAt uint32
	// start is where the blocks begin; words are their sizes, as squashfs has them.
	start int64
	words []uint32
	// fragment and offset are the place of a file smaller than a block.
	fragment, offset uint32
}

// small says whether the content is part of a fragment block.
func (c *content) small() bool { return c.size < squashfs.BlockSize }

func (e *entry) name() string { return path.Join(e.dir, e.base) }

const (
	whiteoutPrefix = ".wh."
	opaqueName     = ".wh..wh..opq"
)

// newEntry checks a tar header. It returns nil for headers that are about no
// file.
func newEntry(h *tar.Header) (*entry, error) {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil, nil
	}
	e := &entry{mode: uint16(h.Mode & 0o7777), mtime: h.ModTime.Unix()}
	if err := e.setName(h.Name); err != nil {
		return nil, err
	}
	if err := e.setKind(h); err != nil {
		return nil, err
	}
	if e.kind == kindWhiteout || e.kind == kindOpaque {
		return e, nil
	}
	if e.base == "" && e.kind != kindDir {
		return nil, fmt.Errorf("%w: the root can only be a directory", ErrEntry)
	}
	if h.Uid < 0 || h.Gid < 0 || h.Uid >= math.MaxUint32 || h.Gid >= math.MaxUint32 {
		return nil, fmt.Errorf("%w: owner %d:%d", ErrEntry, h.Uid, h.Gid)
	}
	e.uid, e.gid = uint32(h.Uid), uint32(h.Gid)
	return e, e.setXattrs(h.PAXRecords)
}

// setName cleans a name, which is below the root even if it is absolute. One
// that climbs above the root is refused.
func (e *entry) setName(name string) error {
	clean, err := below(name)
	if err != nil {
		return err
	}
	dir, base := path.Split(clean)
	e.dir, e.base = strings.TrimSuffix(dir, "/"), base
	return nil
}

// below is a name relative to the root; "" is the root.
func below(name string) (string, error) {
	if len(name) >= pathMax || strings.Contains(name, "\x00") {
		return "", fmt.Errorf("%w: a name of %d bytes, or with a zero byte", ErrEntry, len(name))
	}
	rel := path.Clean(strings.TrimLeft(name, "/"))
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fmt.Errorf("%w: %.300q is outside the root", ErrEntry, name)
	}
	if rel == "." {
		return "", nil
	}
	for part := range strings.SplitSeq(rel, "/") {
		if len(part) > squashfs.NameMax {
			return "", fmt.Errorf("%w: a name of %d bytes; Linux takes %d", ErrEntry, len(part), squashfs.NameMax)
		}
	}
	return rel, nil
}

// setKind reads the type and what belongs to it. Whiteouts are known by their
// name, whatever their type.
func (e *entry) setKind(h *tar.Header) error {
	if target, ok := strings.CutPrefix(e.base, whiteoutPrefix); ok {
		return e.setWhiteout(target)
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		e.kind = kindFile
	case tar.TypeDir:
		e.kind = kindDir
	case tar.TypeSymlink:
		e.kind, e.link, e.mode = kindSymlink, h.Linkname, 0o777
		if e.link == "" || len(e.link) > squashfs.TargetMax {
			return fmt.Errorf("%w: a symlink target of %d bytes", ErrEntry, len(e.link))
		}
	case tar.TypeLink:
		link, err := below(h.Linkname)
		e.kind, e.link = kindHardlink, link
		return err
	case tar.TypeChar, tar.TypeBlock:
		return e.setDevice(h)
	case tar.TypeFifo:
		e.kind = kindFifo
	default:
		return fmt.Errorf("%w: unknown type %q", ErrEntry, h.Typeflag)
	}
	return nil
}

func (e *entry) setWhiteout(target string) error {
	switch {
	case e.base == opaqueName:
		e.kind = kindOpaque
	case target == "" || target == "." || target == "..":
		return fmt.Errorf("%w: a whiteout of nothing", ErrEntry)
	default:
		e.kind, e.base = kindWhiteout, target
	}
	return nil
}

func (e *entry) setDevice(h *tar.Header) error {
	e.kind = kindChar
	if h.Typeflag == tar.TypeBlock {
		e.kind = kindBlock
	}
	if h.Devmajor < 0 || h.Devminor < 0 || h.Devmajor >= 1<<12 || h.Devminor >= 1<<20 {
		return fmt.Errorf("%w: device number %d:%d", ErrEntry, h.Devmajor, h.Devminor)
	}
	e.major, e.minor = uint32(h.Devmajor), uint32(h.Devminor)
	return nil
}

// setXattrs keeps the attributes that mean something elsewhere and that
// squashfs can hold: not SELinux labels, nor those of the overlay that the
// image was built on, nor user attributes where Linux has none. In a tar, an
// empty value means no attribute.
func (e *entry) setXattrs(records map[string]string) error {
	for key, value := range records {
		name, ok := strings.CutPrefix(key, "SCHILY.xattr.")
		if !ok || value == "" || !e.takes(name) {
			continue
		}
		if len(value) > squashfs.XattrValueMax {
			return fmt.Errorf("%w: extended attribute %.300q of %d bytes", ErrEntry, name, len(value))
		}
		e.xattrs = append(e.xattrs, squashfs.Xattr{Name: name, Value: value})
	}
	slices.SortFunc(e.xattrs, func(a, b squashfs.Xattr) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func (e *entry) takes(name string) bool {
	// What an overlay wrote into the layer speaks of another overlay than the one that
	// will be mounted over the image, which would believe it.
	if name == "security.selinux" || strings.HasPrefix(name, "trusted.overlay.") || strings.HasPrefix(name, "user.overlay.") {
		return false
	}
	if strings.HasPrefix(name, "user.") && e.kind != kindFile && e.kind != kindDir {
		return false
	}
	return squashfs.Storable(name)
}
