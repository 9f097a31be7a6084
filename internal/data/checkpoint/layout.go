package checkpoint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Patience is how long nothing changes in a checkpoint whose last file may be yet to come, until it is taken as whole.
const Patience = 10 * time.Minute

// NotWhole stands between the name of a checkpoint and why it is not whole, in reasons for people.
const NotWhole = " is not whole: "

// again is the same for one that was whole once: it is written again, or was copied in another order.
const again = time.Minute

// File is a file of a checkpoint.
type File struct {
	Path      string // below the checkpoint's directory
	SizeBytes int64
	Changed   time.Time
}

// Set is what is seen of a checkpoint.
type Set struct {
	Dir    string
	Files  []File // all below it that are parts, see Part
	Single bool   // it is a file, and no directory

	// What is read of it, by path; see Look.
	Begins   map[string][]byte // of files that name others
	Contents map[string]Content

	// What is beside it.
	Named      bool   // a pointer names it, or a later one of its run
	Unfinished bool   // a file says that it is being written, see UnfinishedName
	Marker     string // the file by which others of its run say that they are whole; "" if there is none
}

// Verdict says how far a checkpoint is.
type Verdict struct {
	Layout string
	Torn   string        // what is missing, "" if nothing is: waiting makes it no better, only writing
	Quiet  time.Duration // else it is whole once nothing changed in it for so long
	Why    string        // why it has to be quiet
	Slow   bool          // what may be yet to come is no part of every checkpoint: another one of its run shows whether it is of these
	Mute   bool          // nothing in it says whether it is whole: whoever asks decides how long to wait
	Seals  []string      // the files that say that it is whole, below its directory: they come last

	Counted []string // the kinds of files of which it says itself how many it has, see Fewer

	Checked int // so many files are as long as they, or an index of them, say
}

// Written judges a checkpoint in the directory where it is written: of what is there, what was to come before came.
func Written(s Set) Verdict { return s.judge(false) }

// Stored judges a checkpoint in a bucket, where its files may have come in any order.
func Stored(s Set) Verdict { return s.judge(true) }

// UnfinishedName is the file that NeMo has beside a checkpoint that it is writing.
func UnfinishedName(dir string) string {
	return strings.TrimSuffix(strings.TrimSuffix(dir, ".nemo"), ".ckpt") + "-unfinished"
}

// part is a directory of a checkpoint that has a layout of its own.
type part struct {
	Set
	dir   string          // below the checkpoint's
	names map[string]File // of the files right in it
	all   bool            // files may have come in any order
	verdict
}

// verdict is one in the making.
type verdict struct {
	layout string
	torn   string
	slow   string   // why the last file may be yet to come
	seals  []string // below the part's directory, in the order of their writing

	checked []string // files below it that are as long as an index says
	counted []string // kinds of files below the checkpoint's directory
}

func (s Set) judge(stored bool) Verdict {
	v := Verdict{Layout: "files"}
	if s.Unfinished {
		return Verdict{Layout: "NeMo", Torn: path.Base(UnfinishedName(s.Dir)) + " says that it is being written"}
	}
	if s.Single {
		v.Layout = "checkpoint file"
		s.lengths(&v, nil)
		return v
	}
	slow := ""
	checked := map[string]bool{}
	for _, p := range s.parts(stored || s.Named) { // what a pointer names has all of its files
		p.judge()
		if p.layout != "" && (v.Layout == "files" || p.dir == ".") {
			v.Layout = p.layout
		}
		v.Torn, slow = first(v.Torn, p.torn), first(slow, p.slow)
		inner := make([]string, len(p.seals))
		for i, seal := range p.seals {
			inner[i] = path.Join(p.dir, seal)
		}
		v.Seals = slices.Concat(inner, v.Seals)
		v.Counted = append(v.Counted, p.counted...)
		for _, name := range p.checked {
			checked[path.Join(p.dir, name)] = true
		}
	}
	s.lengths(&v, checked)
	s.marked(&v, stored)
	switch {
	case v.Torn != "" || s.Named && !stored:
	case slow != "":
		v.Quiet, v.Why, v.Slow = Patience, slow, true
	case len(v.Seals) > 0:
		if old := s.stale(v.Seals); old != "" && !stored {
			v.Quiet, v.Why = again, old
		}
	case !s.Named || stored: // a pointer says that it was written, and not that all of it came
		v.Mute = true
	}
	return v
}

// lengths looks for files that are cut off, and counts those that cannot be: by their own words, or by those of an index.
func (s Set) lengths(v *Verdict, checked map[string]bool) {
	for _, f := range s.Files {
		c := s.Contents[f.Path]
		switch {
		case f.SizeBytes == 0 && neverEmpty(f.Path):
			v.Torn = first(v.Torn, f.Path+" has 0 bytes")
		case c.Torn != "":
			v.Torn = first(v.Torn, f.Path+": "+c.Torn)
		case c.Checked || checked[f.Path]:
			v.Checked++
		}
	}
}

// marked looks for the file by which people say that a directory is whole.
func (s Set) marked(v *Verdict, stored bool) {
	switch m := MarkerOf(s.Files); {
	case m != "":
		v.Seals = append(v.Seals, m)
	case s.Marker != "" && stored:
		v.Torn = first(v.Torn, s.Marker+" is not there, which others of its run have")
	case s.Marker != "" && !s.Named && len(v.Seals) == 0:
		v.Quiet, v.Why = Patience, s.Marker+" is not there yet"
	}
}

// stale says which file is newer than a seal.
func (s Set) stale(seals []string) string {
	for _, g := range s.Files {
		if !slices.Contains(seals, g.Path) {
			continue
		}
		for _, f := range s.Files {
			if f.Changed.After(g.Changed) && below(f.Path, path.Dir(g.Path)) && !slices.Contains(seals, f.Path) {
				return fmt.Sprintf("%s is newer than %s", f.Path, g.Path)
			}
		}
	}
	return ""
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func below(p, dir string) bool { return dir == "." || strings.HasPrefix(p, dir+"/") }

// parts are the directories of a checkpoint that have files, the outermost first.
func (s Set) parts(stored bool) []part {
	dirs := map[string]map[string]File{".": {}}
	for _, f := range s.Files {
		d := path.Dir(f.Path)
		if dirs[d] == nil {
			dirs[d] = map[string]File{}
		}
		dirs[d][path.Base(f.Path)] = f
	}
	var all []part
	for d, names := range dirs {
		all = append(all, part{Set: s, dir: d, names: names, all: stored})
	}
	slices.SortFunc(all, func(a, b part) int { return strings.Compare(a.dir, b.dir) })
	return all
}

func (p *part) has(name string) bool { _, ok := p.names[name]; return ok }

// any says that there is a file with such a name right in the directory.
func (p *part) any(r *regexp.Regexp) bool {
	for name := range p.names {
		if r.MatchString(name) {
			return true
		}
	}
	return false
}

// under says that there is a directory with such a name right in it.
func (p *part) under(prefix string) bool {
	return slices.ContainsFunc(p.Files, func(f File) bool { return strings.HasPrefix(f.Path, path.Join(p.dir, prefix)) })
}

func (p *part) begin(name string) []byte { return p.Begins[path.Join(p.dir, name)] }

func (p *part) judge() {
	p.dcp()
	p.megatron()
	p.deepSpeed()
	p.shards()
	p.trainer()
	p.judgeManifest()
	p.orbax()
	p.olmo()
}

// patterns are compiled once.
var patterns = sync.OnceValue(func() (c struct{ data, states, trainer, random, weights, index, world, shard *regexp.Regexp }) {
	c.data = regexp.MustCompile(`^__\d+_\d+\.distcp$`)
	c.states = regexp.MustCompile(`^(?:(?:bf16_|fp16_)?zero_pp_rank_(\d+)_)?mp_rank_(\d+)_(model|optim)_states\.pt$`)
	c.trainer = regexp.MustCompile(`^(?:optimizer\.pt|scheduler\.pt|rng_state(?:_\d+)?\.pth)$`)
	c.random = regexp.MustCompile(`^rng_state_(\d+)\.pth$`)
	c.weights = regexp.MustCompile(`^(?:pytorch_model.*|model.*\.safetensors|adapter_model\..*|.*\.index\.json)$`)
	c.index = regexp.MustCompile(`\.(?:safetensors|bin)\.index\.json$`)
	c.shard = regexp.MustCompile(`\.data-\d+-of-\d+$`) // of TensorFlow
	c.world = regexp.MustCompile(`^(.*world_size_)(\d+)_rank_\d+(\D*)$`)
	return c
})
