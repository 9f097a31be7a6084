package export

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
)

// justWritten is the age under which a file's time says little: the kernel's clock for files ticks too coarsely to
// show a second write.
const justWritten = 100 * time.Millisecond

// compareBytes is about how much of files that were touched is read in one round.
const compareBytes = 1 << 30

// State is all that a decision rests on.
type State struct {
	Rule    Rule
	Pace    Pace
	Time    time.Time
	Tree    Tree
	Before  *Tree              // at the previous look; nil at the first
	Objects map[string]object  // below the prefix, by path
	Unclear map[string]bool    // objects that are still to be looked at, by path
	Known   map[string]Known   // by path; nil if nothing is imported
	Failed  map[string]Attempt // files that could not be exported, by path

	Seen map[string]checkpoint.Set // what was read of checkpoints that are to be exported, by directory
}

// Plan is what to do in this round, and why other files have to wait.
type Plan struct {
	Puts    []Step            // in this order
	Deletes []Step            // after all of Puts succeeded, in this order
	Waits   []Wait            // for a later round
	Blocked []Wait            // until a person changes something
	Kept    []Wait            // objects without files that stay nevertheless
	Gone    map[string]string // checkpoints that the rule does not keep in the bucket, by directory: why
}

// Step puts or deletes one object.
type Step struct {
	Key    string
	File   File // of a delete only its path counts
	Reason string
	Needs  []string // a pointer's: keys of Puts that must have succeeded
	Again  bool     // it failed before, and comes after all others
	Parts  int      // how many files the checkpoint has that it is in, this one among them; 0 if it is in none
	// Expired says of a delete that the object has to go though its file may be there.
	Expired bool
	// Same is the version of the object that may already be the file: it is put only if the file's content is another one.
	Same version
}

// Wait is a file that is not exported now.
type Wait struct {
	Path      string
	SizeBytes int64
	Reason    string
}

// Pending is how many files and objects are still to be dealt with, those that cannot be exported among them. It is zero
// when the bucket is like the directory.
func (p Plan) Pending() int { return len(p.Puts) + len(p.Deletes) + len(p.Waits) + len(p.Blocked) }

// standing is how a file stands with its object.
type standing int8

const (
	done      standing = iota // the object is the file, or the rule leaves it as it is
	planned                   // it is put in this round
	waiting                   // it will be put later
	blocked                   // it cannot be exported as things are
	unwanted                  // the rule does not want it
	elsewhere                 // it is a pointer, or temporary
)

// decision is a plan in the making.
type decision struct {
	State
	plan   Plan
	stands []standing // of the tree's files that are no pointers
	budget int64      // how many bytes of files may still be compared with their objects

	pointers []pointer
	saved    map[string]*saved // by directory
	markers  map[string]string // by run
	gone     map[string]string // checkpoints that have to go, by directory: why
	left     []string          // pointers of the bucket without files
	sealing  map[string]Step   // what says of checkpoints that they are whole, by path
	held     []Step            // what comes right behind others
}

// Decide says which files to put, in which order, and which objects to delete. It is pure.
func Decide(s State) Plan { return begin(s).decide() }

// begin finds what a decision is about, before anything is read of it.
func begin(s State) *decision {
	d := &decision{State: s, stands: make([]standing, len(s.Tree.Files)), budget: compareBytes, sealing: map[string]Step{}}
	d.findPointers()
	d.checkpoints()
	return d
}

func (d *decision) decide() Plan {
	s := d.State
	d.expiring()
	d.plan.Gone = d.gone
	for i, f := range s.Tree.Files {
		if d.stands[i] != elsewhere {
			d.stands[i] = d.file(f)
		}
	}
	for _, w := range s.Tree.barred(s.Rule) {
		d.block(File{Path: w.Path}, w.Reason)
	}
	for _, dir := range slices.Sorted(maps.Keys(d.saved)) {
		d.reseal(d.saved[dir])
		d.seal(d.saved[dir])
	}
	for _, p := range d.pointers {
		d.pointer(p)
	}
	d.plan.Puts = arranged(d.plan.Puts, d.held)
	d.deletes()
	d.expire()
	return d.plan
}

// findPointers leaves what is data.
func (d *decision) findPointers() {
	for i, f := range d.Tree.Files {
		if temporary(f.Path) {
			d.stands[i] = elsewhere
			continue
		}
		if p, ok := d.Tree.pointer(f); ok {
			d.stands[i] = elsewhere
			d.pointers = append(d.pointers, p)
		}
	}
}

// inTurn has the oldest first, then what only has to be compared, and last what failed before.
func inTurn(a, b Step) int {
	return cmp.Or(late(a)-late(b), cmp.Compare(a.File.ModTime, b.File.ModTime))
}

func late(s Step) int {
	switch {
	case s.Again:
		return 2
	case s.Same != (version{}):
		return 1
	}
	return 0
}

// file decides on a file that is no pointer.
func (d *decision) file(f File) standing {
	stand, reason := d.judge(f, growing(f.Path))
	if _, gone := d.expired(f.Path); gone && stand != done {
		return unwanted
	}
	if stand == planned {
		stand, reason = d.gate(f, reason)
	}
	switch stand {
	case planned:
		d.put(d.step(f, reason))
	case waiting:
		d.wait(f, reason)
	case blocked:
		d.block(f, reason)
	}
	return stand
}

// put plans a step: the files that say of a checkpoint that it is whole come later.
func (d *decision) put(s Step) {
	if c := d.in(s.File.Path); c != nil && c.sealed(s.File.Path) {
		d.sealing[s.File.Path] = s
		return
	}
	d.plan.Puts = append(d.plan.Puts, s)
}

func (d *decision) step(f File, reason string) Step {
	s := Step{Key: d.key(f), File: f, Reason: reason}
	_, s.Again = d.Failed[f.Path]
	if c := d.in(f.Path); c != nil {
		s.Parts = c.parts
	}
	if o, have := d.Objects[f.Path]; have && d.touched(f, o) {
		s.Same = o.Version
	}
	return s
}

func (d *decision) wait(f File, reason string) {
	d.plan.Waits = append(d.plan.Waits, Wait{f.Path, f.SizeBytes, reason})
}

func (d *decision) block(f File, reason string) {
	d.plan.Blocked = append(d.plan.Blocked, Wait{f.Path, f.SizeBytes, reason})
}

// judge compares a file with its object, and says whether it can be put now. A log may be put while it grows.
func (d *decision) judge(f File, log bool) (standing, string) {
	o, have := d.Objects[f.Path]
	known, imported := d.Known[f.Path]
	switch {
	case d.Unclear[f.Path]:
		return waiting, "its object is still to be looked at"
	case have && d.touched(f, o):
	case imported && known.holds(f):
		return done, "" // if the two differ, then by what happened in the bucket
	case have && (alike(f, o) || d.Known == nil && exported(f, o)):
		return done, ""
	case have && !d.Rule.Changed:
		return done, ""
	case !have && !d.Rule.New:
		return unwanted, ""
	}
	if why := d.refused(f); why != "" {
		return blocked, why
	}
	if have && d.touched(f, o) {
		return d.compare(f)
	}
	reason := "new"
	if have {
		reason = "changed"
	}
	if log {
		if rest := time.Unix(0, o.Modified).Add(d.Pace.LogEvery).Sub(d.Time); have && rest > 0 {
			return waiting, fmt.Sprintf("a log, exported again in %s", rest.Round(time.Second))
		}
		return planned, reason
	}
	if why, ok := d.complete(f); !ok {
		return waiting, why
	}
	return planned, reason
}

// refused says why a file cannot be exported, at least for now.
func (d *decision) refused(f File) string {
	if why := noKey(d.key(f)); why != "" {
		return why
	}
	if a, ok := d.Failed[f.Path]; ok && unchanged(a.File, f) && d.Time.Before(a.Again) {
		return a.Reason
	}
	return ""
}

// touched says that a file may have another content under the size and date of its object, and that the object is not
// what changed.
func (d *decision) touched(f File, o object) bool {
	k, known := d.Known[f.Path]
	return d.Rule.Changed && exported(f, o) && doubtful(f, o) && (!known || k.is(o))
}

// compare plans to read a file that was touched. New files do not wait for that: there is a limit for each round.
func (d *decision) compare(f File) (standing, string) {
	if why, ok := d.complete(f); !ok {
		return waiting, why
	}
	if d.budget <= 0 {
		return waiting, "it was touched, and is compared with its object later"
	}
	d.budget -= f.SizeBytes
	return planned, "touched"
}

// complete says whether a file is finished, and why not. A look is not one moment: a pointer may be seen that came after
// its directory was looked at, whatever its date says. So it must have been there, as it is, before this look began.
func (d *decision) complete(f File) (string, bool) {
	age := d.Time.Sub(f.ModTime.time())
	if pointerName(f.Path) {
		age = min(age, d.Time.Sub(f.Change.time()))
	} else if f.Link != "" || d.renamed(f) {
		return "", true // it came to be in one step
	}
	if age >= 0 && age < justWritten || age.Abs() < d.Pace.Late {
		return "it was just written", false
	}
	if before, ok := d.Before.file(f.Path); (ok && unchanged(before, f)) || age >= d.Pace.Settle {
		return "", true
	}
	return "it is being written", false
}

// renamed says that a file is in a checkpoint directory that got its name after the file was written, which is how a
// checkpoint is published whole. A rename changes a directory's change time, but not its modification time.
func (d *decision) renamed(f File) bool {
	for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
		if !checkpointName(path.Base(dir)) {
			continue
		}
		at, ok := d.Tree.Dirs[dir]
		return ok && at.ChangeTime.After(at.ModTime) && f.ModTime <= stampOf(at.ChangeTime)
	}
	return false
}

func (d *decision) key(f File) string { return key(d.Rule.Prefix, f.Path) }

// pointer decides on a pointer: it follows right behind the last of what it names.
func (d *decision) pointer(p pointer) {
	if _, gone := d.expired(p.file.Path); gone {
		return
	}
	stand, reason := d.judge(p.file, false)
	switch stand {
	case waiting:
		d.wait(p.file, reason)
	case blocked:
		d.block(p.file, reason)
	}
	if stand != planned {
		return
	}
	if p.absent {
		d.hold(p.file, fmt.Sprintf("it names %s, which is not there", p.target))
		return
	}
	var needs []string
	for f, stand := range d.needed(p) {
		switch stand {
		case waiting:
			d.wait(p.file, fmt.Sprintf("it waits for %s", f.Path))
			return
		case blocked:
			d.block(p.file, fmt.Sprintf("it waits for %s, which cannot be exported", f.Path))
			return
		case unwanted:
			d.block(p.file, fmt.Sprintf("the rule does not export %s", f.Path))
			return
		case planned:
			needs = append(needs, d.key(f))
		}
	}
	if c := d.namedBy(p); c != nil && !c.whole {
		d.holdTorn(p.file, c)
		return
	}
	s := d.step(p.file, reason)
	s.Needs = needs
	d.held = append(d.held, s)
}

// hold keeps back a pointer whose target is not there. The target may still come; after a while the pointer is blocked.
func (d *decision) hold(f File, reason string) {
	if d.Time.Sub(f.ModTime.time()) < d.Pace.Settle {
		d.wait(f, reason)
		return
	}
	d.block(f, reason)
}

// holdTorn keeps back a pointer to a checkpoint that is not whole, though all that there is of it is in the bucket.
func (d *decision) holdTorn(f File, c *saved) {
	reason := c.dir + checkpoint.NotWhole + c.why
	if c.torn {
		d.block(f, reason)
		return
	}
	d.wait(f, reason)
}
