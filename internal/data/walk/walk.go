// Package walk finds the files of a directory in the order of the keys that they have in a bucket, while it reads: it
// holds the names of one directory of each level, however many files there are.
//
// Its law: every path below the root is found, or left out because that was asked for, or named with what is wrong
// with it; and what is wrong with one does not keep it from the others.
package walk

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// Walk says what is walked. It may be used once.
type Walk struct {
	Root      string                           // a directory, or one file
	Leftovers bool                             // takes what a pull that was cut off left, which else is left out
	NoFollow  bool                             // leaves symbolic links out, where else what they lead to is taken
	Wanted    func(path string, dir bool) bool // says whether a file is wanted, or may be anything below a directory; nil for all
	Longest   int                              // bytes of a path; 0 for those of a key

	Links int // that were left out, so far
}

// File is a regular file.
type File struct {
	Path      string // below the root, with slashes
	SizeBytes int64
	ModTime   int64 // in nanoseconds since 1970
	Mode      uint32
	UID, GID  uint32
	Self      Self
}

// Self tells a file from one that took its place, or that was written again under its old date.
type Self struct {
	Device, Inode uint64
	Change        int64 // when the kernel saw it change, in nanoseconds since 1970
}

// Files yields all files in the order of their paths' bytes. With an error it yields the path alone that this is
// wrong with, and goes on; the path is empty if it is wrong with the root.
func (w *Walk) Files() iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		info, err := os.Stat(w.Root)
		if err != nil {
			yield(File{}, err)
			return
		}
		if !info.IsDir() {
			w.one(info, yield)
			return
		}
		a := ascent{walk: w, yield: yield}
		a.enter("", w.Root, info)
	}
}

// one is the walk of a root that is a file.
func (w *Walk) one(info fs.FileInfo, yield func(File, error) bool) {
	name, err := filepath.Abs(w.Root)
	if err != nil {
		yield(File{}, err)
		return
	}
	f, err := w.file(filepath.Base(name), info)
	yield(f, err)
}

// file describes a file, or says what is wrong with it.
func (w *Walk) file(path string, info fs.FileInfo) (File, error) {
	longest := w.Longest
	if longest == 0 {
		longest = manifest.MostPath
	}
	switch {
	case Odd(info.Mode()) != "":
		return File{Path: path}, fmt.Errorf("it is %s, not a file", Odd(info.Mode()))
	case len(path) > longest:
		return File{Path: path}, fmt.Errorf("its key would have %d bytes, and S3 takes %d", len(path)+manifest.MostPath-longest, manifest.MostPath)
	case info.Size() > store.MostBytes:
		return File{Path: path}, fmt.Errorf("it has %d bytes, and S3 takes %d (5 TiB) in one object", info.Size(), int64(store.MostBytes))
	}
	return Described(path, info), nil
}

// Described is what the kernel says of a file.
func Described(path string, info fs.FileInfo) File {
	stat := info.Sys().(*syscall.Stat_t)
	return File{Path: path, SizeBytes: info.Size(), ModTime: info.ModTime().UnixNano(), Mode: uint32(info.Mode().Perm()),
		UID: stat.Uid, GID: stat.Gid, Self: self(stat)}
}

// Odd says what something is that is neither a file nor a directory nor a link, "" of these.
func Odd(mode fs.FileMode) string {
	switch mode.Type() {
	case 0, fs.ModeDir, fs.ModeSymlink:
		return ""
	case fs.ModeNamedPipe:
		return "a pipe"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}

// place tells a directory from others.
type place struct{ device, inode uint64 }

func placeOf(info fs.FileInfo) place {
	s := self(info.Sys().(*syscall.Stat_t))
	return place{s.Device, s.Inode}
}

var errLoop = errors.New("it leads to a directory that it is in: a link makes a loop")
