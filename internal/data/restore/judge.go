package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/store"
)

// Found is a checkpoint of the bucket.
type Found struct {
	Dir    string // below the prefix
	Step   int64
	Layout string
	Files  []File
	Bytes  int64
	Proof  string // why it counts as whole
	Torn   string // what of it is missing
	Doubt  string // why something of it may be missing

	// Checked is how many files are as long as they have to be, by their own contents or by an index of them.
	Checked int

	from    *candidate
	certain bool // who put it there said how many files it has
	slow    bool // other checkpoints of its run show whether something is to come
	mute    bool // by its files alone, nobody could know
	named   bool // a pointer names it, or a later one
	counted []string
}

// File is an object of a checkpoint.
type File struct {
	Path   string // below the checkpoint's directory
	Object store.Object
}

// list finds the files of a checkpoint.
func (v *View) list(ctx context.Context, c *candidate) (*Found, error) {
	f := &Found{Dir: c.dir, Step: c.step(), from: c, Layout: "files"}
	if c.single {
		o, err := v.bucket.Head(ctx, v.key(c.dir))
		if errors.Is(err, store.ErrNotFound) {
			f.Torn = "it went while it was looked at"
			return f, nil
		}
		f.Files, f.Bytes, f.Layout = []File{{Path: path.Base(c.dir), Object: o}}, o.SizeBytes, "checkpoint file"
		return f, err
	}
	below := v.key(c.dir) + "/"
	if c.dir == "." {
		below = v.key("")
	}
	for o, err := range v.bucket.List(ctx, below) {
		if err != nil {
			return nil, err
		}
		f.add(strings.TrimPrefix(o.Key, below), o)
	}
	f.oneEach()
	return f, nil
}

// oneEach holds that nothing is a file and a directory at once: a bucket can have that, and no directory.
func (f *Found) oneEach() {
	files := map[string]bool{}
	for _, x := range f.Files {
		files[x.Path] = true
	}
	for _, x := range f.Files {
		for dir := path.Dir(x.Path); dir != "."; dir = path.Dir(dir) {
			if files[dir] {
				f.Torn = fmt.Sprintf("%s is a file in it, and a directory with %s", dir, x.Path)
				return
			}
		}
	}
}

// add takes an object up. One whose key is no path of a file can be none of a checkpoint that a program wrote.
func (f *Found) add(p string, o store.Object) {
	switch {
	case strings.HasSuffix(p, "/") || p == "": // a marker of a directory
	case !fs.ValidPath(p) || strings.ContainsRune(p, 0):
		f.Torn = fmt.Sprintf("the key %q leads to no file in it", o.Key)
	case !checkpoint.Temporary(p) && !ofDataset(p):
		f.Files = append(f.Files, File{Path: p, Object: o})
		f.Bytes += o.SizeBytes
	}
}

// sure says that there is nothing to compare it with others for.
func (f *Found) sure() bool { return f.certain && !f.slow && (!f.mute || f.named) }

func (f *Found) parts() []checkpoint.File {
	var all []checkpoint.File
	for _, x := range f.Files {
		if checkpoint.Part(x.Path) {
			all = append(all, checkpoint.File{Path: x.Path, SizeBytes: x.Object.SizeBytes, Changed: x.Object.Modified})
		}
	}
	return all
}

// judge says whether a checkpoint is whole.
func (v *View) judge(ctx context.Context, f *Found) error {
	if f.Torn != "" {
		return nil
	}
	if err := v.hold(ctx, f); err != nil {
		return err
	}
	parts := f.parts()
	set := checkpoint.Set{Dir: f.Dir, Files: parts, Single: f.from.single, Named: v.named(f.from), Unfinished: f.from.hidden}
	said, err := v.said(ctx, f)
	if err != nil {
		return err
	}
	if said > len(parts) {
		f.Torn = fmt.Sprintf("%d of its %d files are there", len(parts), said)
		return nil
	}
	if f.certain = said > 0; !f.certain {
		set.Marker = v.markers[f.from.run()]
	}
	if set, err = checkpoint.Look(set, checkpoint.Stored, nil, v.reader(ctx, f)); err != nil {
		return err
	}
	verdict := checkpoint.Stored(set)
	f.Layout, f.Torn, f.Checked, f.counted = verdict.Layout, verdict.Torn, verdict.Checked, verdict.Counted
	f.slow, f.mute, f.named = verdict.Slow, verdict.Mute, set.Named
	switch {
	case f.Torn != "":
	case f.from.single:
		f.Proof = "an object is there whole or not at all"
	case f.certain:
		f.Proof = "all of its " + count.Of(said, "file") + " are there"
		f.Torn = f.stale(verdict.Seals)
	default:
		v.believe(f, verdict, set.Named)
	}
	return nil
}

// stale says that a file came after the one that says that all are there: they are being sent again.
func (f *Found) stale(seals []string) string {
	for _, seal := range seals {
		i := slices.IndexFunc(f.Files, func(x File) bool { return x.Path == seal })
		for _, x := range f.Files {
			if i >= 0 && checkpoint.Part(x.Path) && !slices.Contains(seals, x.Path) && x.Object.Modified.Truncate(time.Second).After(f.Files[i].Object.Modified) {
				return fmt.Sprintf("%s was put after %s, which comes last: it is being sent again", x.Path, seal)
			}
		}
	}
	return ""
}

// believe takes a checkpoint as whole of which nothing more can be known.
func (v *View) believe(f *Found, verdict checkpoint.Verdict, named bool) {
	still := v.now.Sub(f.newest())
	quiet := max(verdict.Quiet, 0)
	if verdict.Mute {
		quiet = checkpoint.Patience
	}
	p, older := v.older(f.from)
	switch {
	case older && !named && quiet > 0:
		f.Doubt = fmt.Sprintf("%s names an older one, %s, and nothing in it says that all of it is there", page.Printable(path.Base(p.path)), page.Printable(p.text))
	case still < quiet:
		f.Doubt = fmt.Sprintf("nothing says that all of it is there, and the last of it came %s ago", count.Span(max(still, 0)))
	case len(verdict.Seals) > 0:
		f.Proof = verdict.Seals[len(verdict.Seals)-1] + ", which is written last, is there"
	case named:
		f.Proof = "a pointer names it, or a later one"
	default:
		f.Proof = fmt.Sprintf("nothing of it came in the last %s; it says nothing of itself", count.Span(still))
	}
}

func (f *Found) newest() time.Time {
	var last time.Time
	for _, x := range f.Files {
		if x.Object.Modified.After(last) {
			last = x.Object.Modified
		}
	}
	return last
}

// named says that a pointer names a checkpoint or a later one of its run.
func (v *View) named(c *candidate) bool {
	for _, p := range v.pointers {
		if p.names(c.dir) {
			return true
		}
		if path.Dir(p.path) == c.run() && checkpoint.NamesLater(p.text, c.dir) {
			return true
		}
	}
	return false
}

// older is the pointer to the newest checkpoint of its run that names one which is older than this. Its writer was ended while it
// wrote this one, or the pointer is yet to come.
func (v *View) older(c *candidate) (pointed, bool) {
	for _, p := range v.pointers {
		if !checkpoint.Pointer(p.path) {
			continue
		}
		for _, other := range v.all {
			if other.run() == c.run() && p.names(other.dir) && other.step() != checkpoint.NoStep && other.step() < c.step() {
				return p, true
			}
		}
	}
	return pointed{}, false
}

// asked is how many of the objects that came last are asked how many there are: those of one second came in any order.
const asked = 8

// said is how many files the checkpoint has, as those of its objects say that came last; 0 if they say nothing.
func (v *View) said(ctx context.Context, f *Found) (int, error) {
	last := slices.DeleteFunc(slices.Clone(f.Files), func(x File) bool { return !checkpoint.Part(x.Path) })
	slices.SortStableFunc(last, func(a, b File) int { return b.Object.Modified.Compare(a.Object.Modified) })
	most := 0
	for _, x := range last[:min(asked, len(last))] {
		o, err := v.bucket.Head(ctx, x.Object.Key)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(o.Meta[checkpoint.MetaParts]); err == nil {
			most = max(most, n)
		}
	}
	return most, nil
}
