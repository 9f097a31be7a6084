package errand

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/part"
)

// mostFiles is how many files of a directory of checkpoints are looked at.
const mostFiles = 200_000

// tree is what lies below a directory of checkpoints.
type tree struct {
	root     string
	files    map[string]checkpoint.File // by path below the root
	paths    []string
	pointers []pointer
	dirs     []string            // the checkpoints: directories, and files that are one
	markers  map[string]string   // by run: the file by which checkpoints of it say that they are whole
	counted  map[string][]string // by checkpoint: the kinds of files of which it says how many it has
	known    *checkpoint.Memory
	reads    part.Reads
	// unread is what below the root cannot be read, and is left out.
	unread []string
}

// mostReads bounds how many parts of files one look reads in a tree, the newest checkpoints first. The next look goes on there.
const mostReads = 4000

// mostUnread is how much of it is said.
const mostUnread = 3

// err is what cannot be read.
func (t *tree) err() error {
	n := len(t.unread)
	if n == 0 {
		return nil
	}
	text := strings.Join(t.unread[:min(n, mostUnread)], "; ")
	if n > mostUnread {
		text += fmt.Sprintf("; and %d more", n-mostUnread)
	}
	return fmt.Errorf("look for checkpoints in %s: %s", t.root, text)
}

// pointer is a file or a link that names a checkpoint beside it.
type pointer struct {
	path string // below the root
	text string
	link bool
	line bool // with an end of line
	mode fs.FileMode
}

// mostPointer is the size up to which a file may be a pointer.
const mostPointer = 4096

// mayPoint says that a file may name the newest checkpoint beside it.
func mayPoint(p string) bool {
	name := path.Base(p)
	return checkpoint.Pointer(p) || name == "last"
}

// walk looks through a directory, and remembers what it reads there. What below it cannot be read is left out, and in the tree's err.
func (s *server) walk(root string) (*tree, error) {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real // a link is not walked into
	}
	t := &tree{root: root, files: map[string]checkpoint.File{}, counted: map[string][]string{}, known: s.memory(root), reads: part.Reads{Open: openOrdinary, Left: mostReads}}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && p != root {
			return nil // it went while we looked
		}
		if err != nil && p != root {
			t.unread = append(t.unread, err.Error())
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil || rel == "." {
			return err
		}
		if checkpoint.Temporary(rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if len(t.paths) >= mostFiles {
			return fmt.Errorf("there are more than %d files", mostFiles)
		}
		if err := t.add(rel, d); err != nil {
			t.unread = append(t.unread, err.Error())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for checkpoints in %s: %w", root, err)
	}
	slices.Sort(t.paths)
	t.dirs = t.checkpoints()
	slices.SortStableFunc(t.dirs, func(a, b string) int { return cmp.Compare(checkpoint.Step(b), checkpoint.Step(a)) })
	t.markers = checkpoint.Markers(slices.Values(t.paths), t.dirs)
	return t, nil
}

func (t *tree) add(rel string, d fs.DirEntry) error {
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if mayPoint(rel) && (info.Mode()&fs.ModeSymlink != 0 || info.Mode().IsRegular() && info.Size() <= mostPointer) {
		t.point(rel, info)
	}
	if info.Mode().IsRegular() {
		t.files[rel] = checkpoint.File{Path: rel, SizeBytes: info.Size(), Changed: info.ModTime()}
		t.paths = append(t.paths, rel)
	}
	return nil
}

func (t *tree) point(rel string, info fs.FileInfo) {
	p := pointer{path: rel, link: info.Mode()&fs.ModeSymlink != 0, mode: info.Mode().Perm()}
	if p.link {
		p.text, _ = os.Readlink(filepath.Join(t.root, rel))
	} else {
		text := t.begin(rel, mostPointer)
		p.text, p.line = strings.TrimSpace(string(text)), strings.HasSuffix(string(text), "\n")
	}
	if p.text != "" && !strings.ContainsAny(p.text, "\n\x00") {
		t.pointers = append(t.pointers, p)
	}
}

// begin is the beginning of a file, nil if it cannot be read.
func (t *tree) begin(rel string, most int64) []byte {
	f, _, err := openFile(filepath.Join(t.root, rel))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, most))
	return text
}

// checkpoints returns the checkpoints of the tree: directories, and files that are one.
func (t *tree) checkpoints() []string {
	all := checkpoint.Dirs(slices.Values(t.paths))
	for _, p := range t.paths {
		if checkpoint.Single(p) && !slices.ContainsFunc(all, func(d string) bool { return d == "." || strings.HasPrefix(p, d+"/") }) {
			all = append(all, p)
		}
	}
	return all
}

// memory is what earlier requests read in a tree.
func (s *server) memory(root string) *checkpoint.Memory {
	if s.known == nil {
		s.known = map[string]*checkpoint.Memory{}
	}
	if s.known[root] == nil {
		s.known[root] = &checkpoint.Memory{}
	}
	s.known[root].Sweep()
	return s.known[root]
}

// names says that a pointer names a checkpoint beside it: by its name, by a path that ends in
// it, or by its step alone.
func (p pointer) names(dir string) bool {
	return path.Dir(p.path) == path.Dir(dir) && checkpoint.Names(p.text, dir)
}

// set is what is seen of a checkpoint.
func (t *tree) set(dir string) checkpoint.Set {
	s := checkpoint.Set{Dir: dir, Marker: t.markers[path.Dir(dir)]}
	if f, single := t.files[dir]; single {
		f.Path, s.Single = path.Base(dir), true
		s.Files = append(s.Files, f)
	}
	for _, p := range t.paths {
		rel, inside := strings.CutPrefix(p, dir+"/")
		if dir == "." {
			rel, inside = p, true
		}
		if inside && checkpoint.Part(rel) {
			f := t.files[p]
			f.Path = rel
			s.Files = append(s.Files, f)
		}
	}
	for _, p := range t.pointers {
		later := path.Dir(p.path) == path.Dir(dir) && checkpoint.NamesLater(p.text, dir)
		s.Named = s.Named || p.names(dir) || later
	}
	_, s.Unfinished = t.files[checkpoint.UnfinishedName(dir)]
	return s
}

// look finds the checkpoints below directories, the newest first. A directory that is not there has
// none; those that cannot be read are in the error, and the checkpoints of the others are found.
func (s *server) look(roots []string, now time.Time) ([]Checkpoint, error) {
	var all []Checkpoint
	var unread []string
	for _, root := range roots {
		t, err := s.walk(root)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			unread = append(unread, err.Error())
			continue
		}
		if err := t.err(); err != nil {
			unread = append(unread, err.Error())
		}
		for _, dir := range t.dirs {
			all = append(all, t.judge(dir, now, checkpoint.Written))
		}
	}
	newestFirst(all)
	if len(unread) > 0 {
		return all, errors.New(strings.Join(unread, "; "))
	}
	return all, nil
}

// newestFirst sorts checkpoints by their steps. Where names have none, a pointer says which one is the newest, or else their times do.
func newestFirst(all []Checkpoint) {
	pointed := func(c Checkpoint) int {
		if c.Step == checkpoint.NoStep && c.Pointed {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b Checkpoint) int {
		return cmp.Or(cmp.Compare(b.Step, a.Step), cmp.Compare(pointed(b), pointed(a)), b.Changed.Compare(a.Changed), strings.Compare(a.Dir, b.Dir))
	})
}

// judge says whether a checkpoint is whole.
func (t *tree) judge(dir string, now time.Time, by func(checkpoint.Set) checkpoint.Verdict) Checkpoint {
	c := Checkpoint{Dir: filepath.Join(t.root, dir), Step: checkpoint.Step(dir)}
	for _, p := range t.pointers {
		c.Pointed = c.Pointed || p.names(dir)
	}
	set := t.set(dir)
	for _, f := range set.Files {
		c.Bytes += f.SizeBytes
		if f.Changed.After(c.Changed) {
			c.Changed = f.Changed
		}
	}
	below := filepath.Join(t.root, dir)
	if set.Single {
		below = filepath.Dir(below)
	}
	set, _ = checkpoint.Look(set, by, t.known, t.reads.Reader(func(p string) string { return filepath.Join(below, p) })) // it has no errors
	v := by(set)
	c.Layout, c.Torn, c.unsure, c.mute = v.Layout, v.Torn, v.Slow || v.Mute, v.Mute
	t.counted[dir] = v.Counted
	quiet := v.Quiet
	if v.Mute {
		quiet = time.Minute
	}
	if still := now.Sub(c.Changed); c.Torn == "" && still >= 0 && still < quiet {
		c.Doubt = cmp.Or(v.Why, "nothing says that all of it is there, and it changed a moment ago")
	}
	c.Whole = c.Torn == "" && c.Doubt == ""
	return c
}
