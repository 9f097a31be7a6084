package checkpoint

import (
	"iter"
	"path"
	"slices"
	"strings"
)

// tells says that only checkpoints have files of such a name. There may be very many files.
func tells(name string) bool {
	switch name {
	case "trainer_state.json", "training_args.bin", "model_optim_rng.pt":
		return true
	}
	return strings.HasSuffix(name, ".distcp") && patterns().data.MatchString(name) || strings.HasSuffix(name, ".safetensors.index.json") ||
		strings.HasSuffix(name, "_model_states.pt") || strings.HasSuffix(name, "_optim_states.pt")
}

// Dirs are the directories of checkpoints among these files, sorted, none in another one; "." is the one that all are in.
// A directory counts by its name, or by what is in it. One that has several checkpoints in it is none.
func Dirs(files iter.Seq[string]) []string {
	f := finder{named: map[string]bool{}, told: map[string]bool{}, seen: map[string]bool{}, inside: map[string]int{}, chosen: map[string]bool{}, above: map[string]bool{}}
	for p := range files {
		if !Temporary(p) {
			f.file(p)
		}
	}
	f.nameNumbered()
	var all []string
	for dir := range f.named {
		if f.single(dir) && !f.within(path.Dir(dir), f.outer) {
			all = append(all, dir)
		}
	}
	for _, dir := range all {
		f.chosen[dir] = true
		for up := dir; up != "." && !f.above[path.Dir(up)]; {
			up = path.Dir(up)
			f.above[up] = true
		}
	}
	for dir := range f.told {
		if !f.within(dir, f.isChosen) && !(dir != "." && f.within(path.Dir(dir), f.isTold)) && !f.above[dir] {
			all = append(all, dir)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

type finder struct {
	named  map[string]bool // by their names; true if that has a number
	told   map[string]bool // by what is in them
	seen   map[string]bool // directories that were looked at
	inside map[string]int  // how many named ones with a number are right in a directory
	chosen map[string]bool // by their names
	above  map[string]bool // directories of which one is below
}

func (f *finder) file(p string) {
	dir := path.Dir(p)
	if tells(path.Base(p)) {
		if strings.HasPrefix(path.Base(dir), "mp_rank_") {
			dir = path.Dir(dir) // Megatron-LM has a directory for each rank
		}
		f.told[dir] = true
	}
	if dir := numberedAbove(p); dir != "" {
		f.told[dir] = true
	}
	for dir := path.Dir(p); dir != "." && dir != "/" && !f.seen[dir]; dir = path.Dir(dir) {
		f.seen[dir] = true
		if _, ok := step(path.Base(dir)); ok {
			f.named[dir] = true
			f.inside[path.Dir(dir)]++
		} else if titled(path.Base(dir)) {
			f.named[dir] = false
		}
	}
}

// single says that a named directory is one checkpoint, and not a run of them.
func (f *finder) single(dir string) bool {
	if f.named[dir] {
		return f.inside[dir] < 2
	}
	return f.inside[dir] == 0
}

func (f *finder) outer(dir string) bool {
	_, ok := f.named[dir]
	return ok && f.single(dir)
}

func (f *finder) isChosen(dir string) bool { return f.chosen[dir] }
func (f *finder) isTold(dir string) bool   { return f.told[dir] && !f.above[dir] }

// within says that a directory or one above it is such a one.
func (f *finder) within(dir string, is func(string) bool) bool {
	for ; dir != "." && dir != "/"; dir = path.Dir(dir) {
		if is(dir) {
			return true
		}
	}
	return is(".")
}
