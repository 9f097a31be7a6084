package data

import (
	"iter"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/data/walk"
	"github.com/muster-hpc/muster/internal/store"
)

// deed is what a push does about a path.
type deed int

const (
	keep    deed = iota // the object is the file: its record is known
	compare             // the object may be the file: its size is the same
	send                // the object is not the file, or there is none
	stay                // no file, but the object is of the dataset, and stays there
	remove              // no file: the object goes after the commit
	stray               // no file: the object is of the bucket, and no push put it
	lost                // neither file nor object: the record goes
	nothing             // there is nothing of it any more
	wrong               // the file cannot be sent
)

// step is what a push does about one path, and why it can.
type step struct {
	deed    deed
	path    string
	file    walk.File       // of keep, compare, send
	record  manifest.Record // of keep, stay, remove
	bytes   int64           // the object has them; of remove, stray
	was     string          // the object's version, "" if there is none
	fresh   bool            // the record is not that of the committed manifest
	named   bool            // the committed manifest names the object, which readers may be reading
	unmeant bool            // of stay: the patterns leave it out
	differs bool            // of send: only the bytes are others
	begun   *begun          // the upload in parts that was cut off
	err     error           // of wrong
}

// sources are what a push compares. All yield in the order of paths.
type sources struct {
	walk      iter.Seq2[walk.File, error]       // an error is about its path alone, but with an empty path
	committed iter.Seq2[manifest.Record, error] // the manifest as it is
	noted     iter.Seq2[note, error]            // what cut-off pushes did since
	objects   iter.Seq2[store.Object, error]    // below the prefix; the key is the path
}

// rules are what the user wants.
type rules struct {
	remove    bool                   // objects of former pushes that have no file any more
	wanted    func(path string) bool // what is not is left as it is
	occupied  func(path string) bool // says whether there is a directory in the source where a file was
	different map[string]bool        // files that were read, and have other bytes than were sent
}

// sight is what is known of a path.
type sight struct {
	path      string
	file      *walk.File
	err       error // of the file
	committed *manifest.Record
	noted     *note
	object    *store.Object
}

// plan yields a step for each path that any source knows, in their order. After an error it yields nothing more.
func plan(s sources, r rules) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		m := openMerge(s)
		defer m.stop()
		var files above
		for {
			seen, err := m.next()
			if err != nil {
				yield(step{}, err)
				return
			}
			if seen.path == "" {
				return
			}
			files.pass(seen)
			if !yield(r.decide(seen, files.over(seen.path)), nil) {
				return
			}
		}
	}
}

// decide says what to do about a path. Where a file takes the place of its directory, what was in there goes.
func (r rules) decide(s sight, replaced bool) step {
	d := step{path: s.path, named: s.committed != nil && s.object != nil}
	record, fresh := s.known()
	d.record, d.fresh = record, fresh
	if s.object != nil {
		d.bytes, d.was = s.object.SizeBytes, s.object.Version
	}
	if s.noted != nil {
		d.begun = s.noted.Begun
	}
	switch {
	case s.err != nil:
		d.deed, d.err = wrong, s.err
	case s.file != nil:
		d.file = *s.file
		r.decideFile(&d, s)
	default:
		r.decideObject(&d, s, replaced)
	}
	return d
}

func (r rules) decideFile(d *step, s sight) {
	switch {
	case r.different[d.path]:
		d.deed, d.differs = send, true
	case s.object != nil && d.record.Path != "" && same(d.file, d.record):
		d.deed = keep
		if d.record.Mode != d.file.Mode {
			d.record.Mode, d.fresh = d.file.Mode, true
		}
	case s.object != nil && d.record.Path == "" && s.object.SizeBytes == d.file.SizeBytes:
		d.deed = compare
	default:
		d.deed = send
	}
}

func (r rules) decideObject(d *step, s sight, replaced bool) {
	switch {
	case s.object == nil && s.committed != nil:
		d.deed = lost
	case s.object == nil:
		d.deed = nothing
	case d.record.Path == "":
		d.deed = stray
	case r.remove && r.wanted(s.path):
		d.deed = remove
	case d.fresh || replaced || r.occupied(s.path):
		d.deed = stray
	default:
		d.deed, d.unmeant = stay, !r.wanted(s.path)
	}
}

// known is the record of the object as it is, if there is one, and whether the committed manifest lacks it.
func (s sight) known() (manifest.Record, bool) {
	switch o := s.object; {
	case o == nil:
	case s.committed != nil && is(*s.committed, *o):
		return *s.committed, false
	case s.noted != nil && s.noted.Record != nil && is(*s.noted.Record, *o):
		return *s.noted.Record, true
	}
	return manifest.Record{}, s.committed == nil
}

// is says that a record is of an object.
func is(r manifest.Record, o store.Object) bool {
	return r.Version == o.Version && r.SizeBytes == o.SizeBytes
}

// same says that a file is as it was when it was sent.
func same(f walk.File, r manifest.Record) bool {
	return f.SizeBytes == r.SizeBytes && f.ModTime == r.ModTime
}

// above are the files of the source that the path at hand begins with.
type above []string

func (a *above) pass(s sight) {
	for len(*a) > 0 && !strings.HasPrefix(s.path, (*a)[len(*a)-1]) {
		*a = (*a)[:len(*a)-1]
	}
	if s.file != nil {
		*a = append(*a, s.path)
	}
}

// over says that one of them stands where a directory of the path was.
func (a above) over(path string) bool {
	return slices.ContainsFunc(a, func(file string) bool { return strings.HasPrefix(path, file+"/") })
}
