package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/data/walk"
)

// pointerBytes is the size up to which a file may be a pointer.
const pointerBytes = 4096

// File is a regular file or a symbolic link.
type File struct {
	Path      string // below the root, with slashes
	SizeBytes int64
	ModTime   stamp
	Change    stamp  // when its content, its name or its mode changed last, by the kernel's word
	Mode      uint32 // type and permissions as in stat(2)
	UID, GID  uint32
	Inode     uint64
	Home      uint64 // the inode of the directory that was looked at
	Link      string // what the bucket has of a symbolic link, see linkText; it is never followed
	Target    string // what the link itself says
	Text      string // the content of a file that may be a pointer
}

// stamp is a time in nanoseconds since 1970: there may be very many files, and a time.Time takes three times as much.
type stamp int64

func stampOf(t time.Time) stamp { return stamp(t.UnixNano()) }

func (s stamp) time() time.Time { return time.Unix(0, int64(s)) }

// Dir is what tells whether a directory was renamed.
type Dir struct {
	ModTime    time.Time // when an entry came or went last
	ChangeTime time.Time // that, or when it was renamed or changed its mode
}

// Tree is a directory as it was found.
type Tree struct {
	Files []File            // in the order of their paths
	Dirs  map[string]Dir    // by path; the root is "."
	Shut  map[string]string // directories that cannot be read, and why
	Odd   map[string]string // pipes, sockets and devices, and what they are; they are not opened
	mount string
	home  uint64
}

func newTree(mount string) Tree {
	return Tree{Dirs: map[string]Dir{}, Shut: map[string]string{}, Odd: map[string]string{}, mount: mount}
}

// Scan looks at all of the rule's directory. Nothing is decided on half a picture: any error fails the whole look, but
// for files that went away meanwhile, and for directories below that may not be read, which are named.
func Scan(rule Rule) (Tree, error) {
	root := rule.Dir
	r, err := rule.open()
	if err != nil {
		return Tree{}, fmt.Errorf("scan %s: %w", root, err)
	}
	defer r.Close()
	tree := newTree(rule.Mount)
	err = fs.WalkDir(r.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		return tree.visit(r, path, d, err)
	})
	if err != nil {
		return Tree{}, fmt.Errorf("scan %s: %w", root, err)
	}
	if err := tree.readPointers(r); err != nil {
		return Tree{}, fmt.Errorf("scan %s: %w", root, err)
	}
	tree.Files = append(make([]File, 0, len(tree.Files)), tree.Files...) // with no room to grow
	slices.SortFunc(tree.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return tree, nil
}

// visit takes up what a walk found.
func (t *Tree) visit(r *os.Root, path string, d fs.DirEntry, err error) error {
	if err == nil {
		err = t.add(r, path, d)
	}
	if path != "." && present(err) == nil {
		return nil
	}
	if path != "." && errors.Is(err, fs.ErrPermission) && d != nil && d.IsDir() {
		t.Shut[path] = err.Error()
		return fs.SkipDir
	}
	return err
}

func (t *Tree) add(r *os.Root, path string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	if info.IsDir() {
		stat := info.Sys().(*syscall.Stat_t)
		t.Dirs[path] = Dir{ModTime: info.ModTime(), ChangeTime: time.Unix(stat.Ctim.Unix())}
		if path == "." {
			t.home = stat.Ino
		}
		return nil
	}
	if what := walk.Odd(info.Mode()); what != "" {
		t.Odd[path] = what
		return nil
	}
	f := described(path, info)
	f.Home = t.home
	if info.Mode().Type() == fs.ModeSymlink {
		if f.Target, err = r.Readlink(path); err != nil {
			return err
		}
		f.Link, _ = linkText(t.mount, path, f.Target)
		f.SizeBytes = int64(len(f.Link))
	}
	t.Files = append(t.Files, f)
	return nil
}

func described(path string, info fs.FileInfo) File {
	stat := info.Sys().(*syscall.Stat_t)
	return File{Path: path, SizeBytes: info.Size(), ModTime: stampOf(info.ModTime()), Change: stamp(stat.Ctim.Nano()),
		Mode: stat.Mode, UID: stat.Uid, GID: stat.Gid, Inode: stat.Ino}
}

// readPointers reads what may be pointers after all directories were read: what a pointer names was there before it,
// so a name that is not in the tree is a reason to wait.
func (t *Tree) readPointers(r *os.Root) error {
	for i, f := range t.Files {
		if !pointerName(f.Path) || f.Link != "" || f.SizeBytes > pointerBytes {
			continue
		}
		text, err := pointerText(r, f)
		if errors.Is(err, fs.ErrPermission) {
			continue // it cannot be exported as long as it cannot be read
		}
		if err != nil {
			return err
		}
		if int64(len(text)) == f.SizeBytes && utf8.Valid(text) {
			t.Files[i].Text = string(text)
		}
	}
	return nil
}

// pointerText is the content of a file that may be a pointer, empty for one that went away. It does not wait for
// a writer where a pipe took the file's place.
func pointerText(r *os.Root, f File) ([]byte, error) {
	in, err := r.OpenFile(f.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, nil
	}
	if err != nil {
		return nil, present(err)
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(in, pointerBytes+1))
}

// unchanged says that a file is the same, as far as can be told without reading it.
func unchanged(a, b File) bool {
	return a.SizeBytes == b.SizeBytes && a.ModTime == b.ModTime && a.Change == b.Change && a.Inode == b.Inode && a.Target == b.Target
}

// file is the file of a path. There may be no tree yet.
func (t *Tree) file(p string) (File, bool) {
	if t == nil {
		return File{}, false
	}
	i, ok := t.index(p)
	if !ok {
		return File{}, false
	}
	return t.Files[i], true
}

// index is where the file of a path is.
func (t *Tree) index(p string) (int, bool) {
	return slices.BinarySearchFunc(t.Files, p, func(f File, p string) int { return strings.Compare(f.Path, p) })
}

func (t *Tree) has(p string) bool {
	_, ok := t.file(p)
	return ok
}

// oddities are the paths that can never be exported, without temporary ones.
func (t Tree) oddities() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.Odd)), temporary)
}

// barred is what of the tree an export can never bring, and why.
func (t Tree) barred(rule Rule) []Wait {
	var all []Wait
	for _, dir := range t.shut() {
		all = append(all, Wait{Path: dir + "/", Reason: t.Shut[dir]})
	}
	for _, p := range t.oddities() {
		if rule.New {
			all = append(all, Wait{Path: p, Reason: "it is " + t.Odd[p] + ", not a file"})
		}
	}
	return all
}

func (t Tree) shut() []string { return slices.Sorted(maps.Keys(t.Shut)) }
