package export

import (
	"fmt"
	"iter"
	"path"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
)

// saved is a checkpoint in the directory.
type saved struct {
	dir      string
	from, to int // its files in the tree
	parts    int // how many of them are parts of it: not logs, nor what is temporary

	judged bool
	whole  bool
	why    string // it is not whole
	torn   bool   // and waiting makes it no better, for now
	seals  []string
}

// checkpoints finds the checkpoints of the tree.
func (d *decision) checkpoints() {
	d.saved = map[string]*saved{}
	dirs := checkpoint.Dirs(d.Tree.paths())
	d.markers = checkpoint.Markers(d.Tree.paths(), dirs)
	for _, dir := range dirs {
		if dir == "." {
			continue // the whole directory: it has no name, and no pointer beside it
		}
		c := &saved{dir: dir}
		c.from, _ = d.Tree.index(dir + "/")
		c.to, _ = d.Tree.index(dir + "0") // which comes behind the slash
		for range d.parts(c) {
			c.parts++
		}
		d.saved[dir] = c
	}
}

// parts are the files of a checkpoint that it needs, by where they are in the tree.
func (d *decision) parts(c *saved) iter.Seq2[int, File] {
	return func(yield func(int, File) bool) {
		for i := c.from; i < c.to; i++ {
			if f := d.Tree.Files[i]; checkpoint.Part(f.Path) && !yield(i, f) {
				return
			}
		}
	}
}

func (t Tree) paths() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, f := range t.Files {
			if !yield(f.Path) {
				return
			}
		}
	}
}

// in is the checkpoint that a file is a part of, nil if there is none.
func (d *decision) in(p string) *saved {
	if len(d.saved) == 0 || !checkpoint.Part(p) {
		return nil
	}
	for dir := range parents(p) {
		if c, ok := d.saved[dir]; ok {
			return c
		}
	}
	return nil
}

// gate lets a file of a checkpoint pass only if the checkpoint is whole.
func (d *decision) gate(f File, reason string) (standing, string) {
	c := d.in(f.Path)
	if c == nil {
		return planned, reason
	}
	if d.judgeWhole(c); c.whole {
		return planned, reason
	}
	why := c.dir + checkpoint.NotWhole + c.why
	if c.torn {
		return blocked, why
	}
	return waiting, why
}

// judgeWhole finds out whether a checkpoint is whole.
func (d *decision) judgeWhole(c *saved) {
	if c.judged {
		return
	}
	c.judged = true
	set := d.set(c)
	v := checkpoint.Written(set)
	c.seals = v.Seals
	newest := d.newest(c)
	switch still := d.Time.Sub(newest); {
	case v.Torn != "":
		c.why, c.torn = v.Torn, still >= checkpoint.Patience
	case still >= 0 && still < v.Quiet:
		c.why = fmt.Sprintf("%s, and it changed %s ago", v.Why, still.Round(time.Second))
	case v.Slow: // nothing more will come
		c.why = d.lacks(c)
		c.torn = c.why != ""
	case v.Mute && still >= 0 && still < d.Rule.Quiet && !d.published(c):
		c.why = fmt.Sprintf("it changed %s ago", still.Round(time.Second))
	case v.Mute:
		if c.why = d.unfinished(c); c.why == "" && still >= 0 && still < checkpoint.Patience && !d.published(c) {
			c.why = d.lacks(c)
		}
	}
	if c.why == "" {
		c.why = tornInBucket(set)
		c.torn = c.why != "" && d.Time.Sub(newest) >= checkpoint.Patience
	}
	c.whole = c.why == ""
}

// tornInBucket says what would be missing for whoever restores a checkpoint. A pointer to it is as good as a marker.
func tornInBucket(set checkpoint.Set) string {
	if set.Named {
		set.Marker = ""
	}
	return checkpoint.Stored(set).Torn
}

// set is what is seen of a checkpoint.
func (d *decision) set(c *saved) checkpoint.Set {
	s := checkpoint.Set{Dir: c.dir, Named: d.named(c.dir), Unfinished: d.Tree.has(checkpoint.UnfinishedName(c.dir)), Marker: d.markers[path.Dir(c.dir)]}
	s.Files = d.files(c)
	s.Begins, s.Contents = d.Seen[c.dir].Begins, d.Seen[c.dir].Contents
	return s
}

func (d *decision) files(c *saved) []checkpoint.File {
	all := make([]checkpoint.File, 0, c.parts)
	for _, f := range d.parts(c) {
		all = append(all, checkpoint.File{Path: strings.TrimPrefix(f.Path, c.dir+"/"), SizeBytes: f.SizeBytes, Changed: f.ModTime.time()})
	}
	return all
}

// newest is when something in a checkpoint changed last. A date in the future says nothing.
func (d *decision) newest(c *saved) time.Time {
	var last time.Time
	for _, f := range d.parts(c) {
		at := f.ModTime.time()
		if at.After(d.Time) {
			at = f.Change.time()
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// lacks says which kind of file is yet to come, as the checkpoint before has it.
func (d *decision) lacks(c *saved) string {
	var before *saved
	for dir, other := range d.saved {
		step := checkpoint.Step(dir)
		if path.Dir(dir) == path.Dir(c.dir) && step < checkpoint.Step(c.dir) && (before == nil || step > checkpoint.Step(before.dir)) {
			before = other
		}
	}
	if before == nil {
		return ""
	}
	if kind := checkpoint.Lacks(d.files(c), d.files(before)); kind != "" {
		return fmt.Sprintf("%s is not there yet, which %s has", kind, path.Base(before.dir))
	}
	return ""
}

// published says that a checkpoint came under its name in one step.
func (d *decision) published(c *saved) bool {
	for _, f := range d.parts(c) {
		if !d.renamed(f) {
			return false
		}
	}
	return true
}

// unfinished says which file of a checkpoint is not finished yet.
func (d *decision) unfinished(c *saved) string {
	for _, f := range d.parts(c) {
		if pointerName(f.Path) {
			continue // it says that something else is finished
		}
		if why, ok := d.complete(f); !ok {
			return fmt.Sprintf("%s: %s", strings.TrimPrefix(f.Path, c.dir+"/"), why)
		}
	}
	return ""
}

// named says that a pointer names a checkpoint, or a later one of its run: it was whole when that was written.
func (d *decision) named(dir string) bool {
	step := checkpoint.Step(dir)
	for _, p := range d.pointers {
		if p.absent || p.loose || path.Dir(p.file.Path) != path.Dir(dir) {
			continue
		}
		if p.target == dir || below(p.target, dir) || step != checkpoint.NoStep && step <= checkpoint.Step(p.target) {
			return true
		}
	}
	return false
}
