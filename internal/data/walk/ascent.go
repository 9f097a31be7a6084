package walk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// ascent is a walk under way: the directories from the root to where it is.
type ascent struct {
	walk  *Walk
	yield func(File, error) bool
	above []place
}

// enter walks a directory whose path ends with a slash, or is empty. Like all that follows it returns false when nothing
// more is wanted.
func (a *ascent) enter(path, at string, info fs.FileInfo) bool {
	here := placeOf(info)
	if slices.Contains(a.above, here) {
		return a.wrong(path, errLoop)
	}
	a.above = append(a.above, here)
	defer func() { a.above = a.above[:len(a.above)-1] }()
	names, err := read(at, a.walk.NoFollow)
	if err != nil {
		return a.wrong(path, err)
	}
	for _, n := range names {
		if !a.visit(path, at+"/"+n.name, n) {
			return false
		}
	}
	return true
}

// visit takes up one entry of a directory.
func (a *ascent) visit(dir, at string, e entry) bool {
	path := dir + e.name
	switch {
	case dir == "" && e.name == manifest.Dir:
		return true
	case manifest.Leftover(e.name) && !a.walk.Leftovers:
		return true
	case !a.wanted(path, e.dir):
		return true
	case !utf8.ValidString(e.name):
		return a.wrong(path, errors.New("its name is not UTF-8, as the keys of S3 have to be"))
	case e.link && a.walk.NoFollow:
		a.walk.Links++
		return true
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return a.lost(path, at, err)
	case info.IsDir() != e.dir:
		return a.wrong(path, errors.New("it changed while the directory was read"))
	case e.dir:
		return a.enter(path+"/", at, info)
	}
	return a.yield(a.walk.file(path, info))
}

func (a *ascent) wanted(path string, dir bool) bool {
	return a.walk.Wanted == nil || a.walk.Wanted(path, dir)
}

// lost is a path that the system does not describe. One that went away since its directory was read was never there.
func (a *ascent) lost(path, at string, err error) bool {
	target, notLink := os.Readlink(at)
	switch {
	case notLink == nil && errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("it is a link to %s, which is not there", target)
	case errors.Is(err, fs.ErrNotExist):
		return true
	}
	return a.wrong(path, err)
}

func (a *ascent) wrong(path string, err error) bool {
	return a.yield(File{Path: path}, whole.Cause(err))
}
