package export

import (
	"fmt"
	"iter"
	"path"
	"strconv"
	"strings"
)

// pointer is a file or a link whose content names what is newest beside it.
type pointer struct {
	file   File
	target string // the directory or file that must be exported first, or the name that was not found
	absent bool   // there is no such target
	loose  bool   // it says something else than a name: all beside it must be exported first
}

func checkpointName(name string) bool { return strings.HasPrefix(name, "checkpoint") }

// pointer reads a file as a pointer, if it is one.
func (t Tree) pointer(f File) (pointer, bool) {
	if f.Link != "" && !pointerName(f.Path) {
		target, ok := t.linked(f)
		return pointer{file: f, target: target}, ok
	}
	name := f.Link
	if name == "" {
		name = strings.TrimSpace(f.Text)
	}
	if !pointerName(f.Path) || name == "" || strings.Contains(name, "\n") {
		return pointer{}, false
	}
	if target, ok := t.named(f, name); ok {
		return pointer{file: f, target: target}, true
	}
	_, err := strconv.Atoi(name)
	number := err == nil
	if f.Link != "" || (alwaysPointer(f.Path) && !(number && path.Base(f.Path) == "latest")) {
		return pointer{file: f, target: name, absent: true}, true
	}
	return pointer{file: f, target: path.Dir(f.Path), loose: true}, true
}

// linked is what a link leads to, if that is here: a link of any name comes after it. Links to links are followed, and one
// that leads around is no pointer.
func (t Tree) linked(f File) (string, bool) {
	at := f
	for range 8 {
		target := path.Join(path.Dir(at.Path), at.Link)
		if path.IsAbs(at.Link) || temporary(target) || target == f.Path || below(f.Path, target) {
			return "", false
		}
		if _, ok := t.Dirs[target]; ok {
			return target, true
		}
		next, ok := t.file(target)
		if !ok || next.Link == "" || pointerName(next.Path) {
			return target, ok && next.Link == ""
		}
		at = next
	}
	return "", false
}

// named finds what a pointer names: a path from its directory, a sibling with the last part of the path (a job may see
// the directory under another root), or Megatron's directory of an iteration.
func (t Tree) named(f File, name string) (string, bool) {
	dir := path.Dir(f.Path)
	candidates := []string{path.Join(dir, path.Base(name))}
	if !path.IsAbs(name) {
		candidates = append([]string{path.Join(dir, name)}, candidates...)
	}
	if n, err := strconv.Atoi(name); err == nil {
		candidates = append(candidates, path.Join(dir, fmt.Sprintf("iter_%07d", n)))
	}
	for _, c := range candidates {
		if temporary(c) || c == f.Path || below(f.Path, c) {
			continue
		}
		if _, ok := t.Dirs[c]; ok || t.has(c) {
			return c, true
		}
	}
	return "", false
}

// namedBy is the checkpoint that a pointer outside it names, or something in it, judged; nil if there is none.
func (d *decision) namedBy(p pointer) *saved {
	c := d.saved[p.target]
	if c == nil {
		c = d.in(p.target)
	}
	if c == nil || p.loose || below(p.file.Path, c.dir) {
		return nil
	}
	d.judgeWhole(c)
	return c
}

// needed yields the files that must be exported before a pointer, and how they stand.
func (d *decision) needed(p pointer) iter.Seq2[File, standing] {
	return func(yield func(File, standing) bool) {
		for _, dir := range d.Tree.shut() {
			if (dir == p.target || below(dir, p.target)) && !yield(File{Path: dir + "/"}, blocked) {
				return
			}
		}
		for i, f := range d.Tree.Files {
			if f.Path != p.target && !below(f.Path, p.target) || temporary(f.Path) {
				continue
			}
			if stand, needed := d.need(p, f, d.stands[i]); needed && !yield(f, stand) {
				return
			}
		}
	}
}

// need says whether a pointer needs this file below its target, and how it stands.
func (d *decision) need(p pointer, f File, stand standing) (standing, bool) {
	o, have := d.Objects[f.Path]
	data := stand != elsewhere
	switch {
	case !data && f.Path == p.target && (d.Unclear[f.Path] || !(have && exported(f, o))):
		return waiting, true // it names another pointer, which goes first
	case !data, p.loose && growing(f.Path):
		return done, false
	case have && stand == waiting && growing(f.Path):
		return done, false // a log is never finished; some of it is there
	}
	return stand, true
}
