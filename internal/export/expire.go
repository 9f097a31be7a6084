package export

import (
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
)

// expiring finds the checkpoints that the policy does not keep in the bucket. Those that are in the directory alone count
// for nothing until they are exported; with none that is in both there is no telling which is the newest, and all stay.
func (d *decision) expiring() {
	if d.Rule.Keep.All() || !d.Rule.exports() {
		return
	}
	var all []checkpoint.Known
	lost := d.lost()
	for _, dir := range slices.Sorted(maps.Keys(lost)) {
		all = append(all, d.known(dir, checkpoint.Stored(*lost[dir]).Torn == ""))
	}
	proven := map[string]int{} // the newest of each run, in all
	for _, c := range d.saved {
		k := d.known(c.dir, d.exported(c))
		all = append(all, k)
		if n, ok := proven[path.Dir(c.dir)]; k.Whole && k.Step != checkpoint.NoStep && (!ok || all[n].Step < k.Step) {
			proven[path.Dir(c.dir)] = len(all) - 1
		}
	}
	for i := range all {
		n, ok := proven[path.Dir(all[i].Dir)]
		all[i].Named = all[i].Named || !ok || n == i
	}
	d.gone = map[string]string{}
	for _, g := range checkpoint.Expire(all, d.Rule.Keep) {
		d.gone[g.Dir] = g.Reason
	}
}

func (d *decision) known(dir string, whole bool) checkpoint.Known {
	k := checkpoint.Known{Dir: dir, Step: checkpoint.Step(dir), Whole: whole, Named: d.mayName(dir)}
	if checkpoint.Numbered(dir) {
		k.Step = checkpoint.NoStep // the number may be that of a job, whose only checkpoint this is
	}
	return k
}

// mayName says that a pointer names a checkpoint or may: what the bucket's says that has no file is not known.
func (d *decision) mayName(dir string) bool {
	for _, p := range d.pointers {
		if p.target == dir || below(p.target, dir) || p.loose && below(dir, path.Dir(p.file.Path)) {
			return true
		}
	}
	for _, p := range d.leftPointers() {
		if below(dir, path.Dir(p)) {
			return true
		}
	}
	return false
}

// leftPointers are the pointers of the bucket that are not in the directory.
func (d *decision) leftPointers() []string {
	if d.left == nil {
		d.left = []string{}
		for p := range d.Objects {
			if pointerName(p) && !d.Tree.has(p) {
				d.left = append(d.left, p)
			}
		}
	}
	return d.left
}

// exported says that all of a checkpoint is in the bucket as it is here.
func (d *decision) exported(c *saved) bool {
	for _, f := range d.parts(c) {
		o, have := d.Objects[f.Path]
		if d.Unclear[f.Path] || !have || !exported(f, o) {
			return false
		}
	}
	d.judgeWhole(c)
	return c.whole
}

// lost are the checkpoints that the directory has no more, with what the bucket has of them.
func (d *decision) lost() map[string]*checkpoint.Set {
	all := map[string]*checkpoint.Set{}
	for _, dir := range checkpoint.Dirs(maps.Keys(d.Objects)) {
		if _, here := d.saved[dir]; !here && dir != "." {
			all[dir] = &checkpoint.Set{Dir: dir}
		}
	}
	if len(all) == 0 {
		return nil
	}
	for p, o := range d.Objects {
		for dir := range parents(p) {
			if s, ok := all[dir]; ok && checkpoint.Part(p) {
				s.Files = append(s.Files, checkpoint.File{Path: strings.TrimPrefix(p, dir+"/"), SizeBytes: o.SizeBytes})
			}
		}
	}
	return all
}

// Expired says that the bucket is not to have a file: it is of a checkpoint that the rule does not keep.
func (t *Track) Expired(p string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for dir := range parents(p) {
		if _, gone := t.plan.Gone[dir]; gone {
			return true
		}
	}
	return false
}

// expired says that a path is in a checkpoint that has to go, and why.
func (d *decision) expired(p string) (string, bool) {
	if len(d.gone) == 0 {
		return "", false
	}
	for dir := range parents(p) {
		if why, ok := d.gone[dir]; ok {
			return why, true
		}
	}
	return "", false
}

// expiredIn is the same for a look at both sides without a round.
func expiredIn(rule Rule, tree Tree, objects map[string]object, now time.Time) func(p string) (string, bool) {
	d := decision{State: State{Rule: rule, Tree: tree, Objects: objects, Time: now}}
	d.stands = make([]standing, len(tree.Files))
	d.findPointers()
	d.checkpoints()
	d.expiring()
	return d.expired
}

// parents are the directories that a path is in, the nearest first.
func parents(p string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if !yield(dir) {
				return
			}
		}
	}
}

// expire plans the end of the objects of checkpoints that have to go. What somebody else put there stays.
func (d *decision) expire() {
	if len(d.gone) == 0 {
		return
	}
	reasons := map[string]string{}
	for p, o := range d.Objects {
		if why, ok := d.expired(p); ok && !d.Unclear[p] && d.ours(p, o) {
			reasons[p] = why
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(reasons), byPointer) {
		if why := d.keep(p); why != "" {
			d.plan.Kept = append(d.plan.Kept, Wait{Path: p, Reason: why})
			continue
		}
		d.plan.Deletes = append(d.plan.Deletes, Step{Key: key(d.Rule.Prefix, p), File: File{Path: p}, Reason: reasons[p], Expired: true})
	}
}
