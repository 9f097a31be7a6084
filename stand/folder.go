package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	mostNames   = 1 << 16                 // the most of one directory that are remembered
	clocksTick  = 1100 * time.Millisecond // after this a change shows in a directory's time, on any file system
	namesAtOnce = 1024
)

// folders remembers what is in directories, whose lists come in pages: reading and sorting a large directory for each of
// its pages took most of the time of a list. A directory that is not as it was is read again, and so is one that may
// have changed without showing it.
type folders struct {
	most int // names of one directory that are remembered, and four times as many of all

	mu    sync.Mutex // guards the rest
	known map[string]*folder
	names int
}

// folder is what is in a directory.
type folder struct {
	mu    sync.Mutex // guards the rest; who waits for it would read the same
	was   os.FileInfo
	read  time.Time
	names []string // in the order of keys: those of directories end with a slash
	above string   // there may be more names up to this one,
	cut   bool     // and more
	last  string   // behind this one
}

// behind are the names in a directory that are behind another one, or that it begins with, in the order of keys. There
// may be more then. What is not there has no names.
func (f *folders) behind(dir, after string) (names []string, more bool, err error) {
	d := f.folder(dir)
	d.mu.Lock()
	defer d.mu.Unlock()
	now, err := os.Stat(dir)
	if err == nil && !d.still(now, after) {
		before := len(d.names)
		d.read = time.Now()
		if err = d.fill(dir, f.most, after); err == nil {
			d.was = now
		}
		f.grew(dir, d, len(d.names)-before)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	at, found := slices.BinarySearch(d.names, after)
	if found && !strings.HasSuffix(after, "/") {
		at++
	}
	if at > 0 && strings.HasSuffix(d.names[at-1], "/") && strings.HasPrefix(after, d.names[at-1]) {
		at--
	}
	return d.names[at:], d.cut, nil
}

func (f *folders) folder(dir string) *folder {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || f.names > 4*f.most || len(f.known) > f.most/4 {
		f.known, f.names = map[string]*folder{}, 0
	}
	if f.known[dir] == nil {
		f.known[dir] = &folder{}
	}
	return f.known[dir]
}

// grew counts the names that are remembered.
func (f *folders) grew(dir string, d *folder, names int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[dir] == d {
		f.names += names
	}
}

// still says that the names behind this one are known.
func (d *folder) still(now os.FileInfo, after string) bool {
	return d.was != nil && os.SameFile(d.was, now) && d.was.ModTime().Equal(now.ModTime()) &&
		d.read.Sub(now.ModTime()) > clocksTick &&
		after >= d.above && (!d.cut || after < d.last)
}

// fill reads the directory. Of very many names it keeps the first ones that are behind after.
func (d *folder) fill(dir string, most int, after string) error {
	d.was, d.names, d.above, d.cut = nil, nil, "", false
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(namesAtOnce)
		d.add(entries)
		if len(d.names) >= 2*most {
			d.trim(most, after)
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(d.names)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (d *folder) add(entries []os.DirEntry) {
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		if !d.cut || name <= d.last {
			d.names = append(d.names, name)
		}
	}
}

// trim makes room.
func (d *folder) trim(most int, after string) {
	d.above = after
	d.names = slices.DeleteFunc(d.names, func(name string) bool { return name <= after && !strings.HasPrefix(after, name) })
	slices.Sort(d.names)
	if len(d.names) > most {
		d.names, d.cut, d.last = d.names[:most], true, d.names[most-1]
	}
}
