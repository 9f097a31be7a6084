package errand

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/say/count"
)

// mostRepairs is more than the end of a run leaves to be put right: where there is more, something
// else is wrong, and nothing is touched.
const mostRepairs = 100

// mender says what has to be put right in directories of checkpoints.
type mender struct {
	ended time.Time
	taken map[string]bool // the new names
	found Diagnosis
	whole bool // there is a checkpoint that is
	torn  int  // so many are, and nobody writes there any more
}

// diagnose says what has to be put right in directories of checkpoints for a job that goes on from
// the newest of them. What is torn is judged as strictly as what lies in a bucket, since nobody
// writes any more. Where none is whole, all stay where they are: the job would begin anew, and who
// could mend one would not know that it was there.
func (s *server) diagnose(m Mending, now time.Time) (*Diagnosis, error) {
	all := &mender{ended: m.Ended, taken: map[string]bool{}}
	seen := map[string]bool{}
	for _, root := range m.Dirs {
		t, err := s.walk(root)
		if errors.Is(err, fs.ErrNotExist) || err == nil && seen[t.root] {
			continue
		}
		if err == nil {
			err = t.err() // what is whole may lie there
		}
		if err != nil {
			return nil, err
		}
		seen[t.root] = true
		runs := t.runs(now, m.Shrunk)
		for _, run := range slices.Sorted(maps.Keys(runs)) {
			all.run(t, run, runs[run])
		}
	}
	return all.diagnosis(), nil
}

// diagnosis is what was found, within bounds.
func (m *mender) diagnosis() *Diagnosis {
	d := &m.found
	left := func(r Repair) int { return min(1, len(r.Left)) }
	slices.SortStableFunc(d.Repairs, func(a, b Repair) int { return cmp.Compare(left(a), left(b)) })
	switch {
	case !m.whole && m.torn > 0:
		d.Stuck = "none of its checkpoints is whole"
	case len(d.Repairs) > mostRepairs && d.Repairs[mostRepairs].Left == "":
		d.Stuck = fmt.Sprintf("more than %d checkpoints and pointers would have to be put right, which is too much for the end of one run", mostRepairs)
	}
	d.Repairs = d.Repairs[:min(len(d.Repairs), mostRepairs)]
	return d
}

// runs are the checkpoints of a tree by the directory that they are in, the newest first.
func (t *tree) runs(now, shrunk time.Time) map[string][]Checkpoint {
	runs := map[string][]Checkpoint{}
	for _, dir := range t.dirs {
		if dir == "." {
			continue // it has no name of its own, and nothing beside it
		}
		c := t.judge(dir, now, checkpoint.Stored)
		c.Dir = dir
		runs[path.Dir(dir)] = append(runs[path.Dir(dir)], c)
	}
	for _, found := range runs {
		newestFirst(found)
		t.compare(found, shrunk)
	}
	return runs
}

// compare takes a checkpoint that says nothing of itself for torn if it lacks what the whole one before it has: nobody writes any more.
func (t *tree) compare(found []Checkpoint, shrunk time.Time) {
	for i := len(found) - 1; i >= 0; i-- {
		c := &found[i]
		before := slices.IndexFunc(found[i+1:], func(o Checkpoint) bool { return o.Torn == "" && o.Step != checkpoint.NoStep })
		if c.Torn != "" || !c.unsure {
			continue
		}
		if before >= 0 {
			o := found[i+1+before]
			if lack := checkpoint.Lacks(t.set(c.Dir).Files, t.set(o.Dir).Files); lack != "" {
				c.Torn = fmt.Sprintf("it has no %s, which %s has", lack, path.Base(o.Dir))
				continue
			}
		}
		if c.mute && i+1 < len(found) && found[i+1].Step != checkpoint.NoStep && !(found[i+1].Changed.Before(shrunk) && c.Changed.After(shrunk)) {
			c.Torn = t.fewer(*c, found[i+1])
		}
	}
}

// fewer says of which files a checkpoint has fewer than the one before it, whole or not: where that has as few, its run has fewer ranks now.
func (t *tree) fewer(c, before Checkpoint) string {
	kind, have, had := checkpoint.Fewer(t.set(c.Dir).Files, t.set(before.Dir).Files, t.counted[c.Dir])
	if kind == "" {
		return ""
	}
	return fmt.Sprintf("it has %s %s, and %s has %d", count.Of(have, "file"), kind, path.Base(before.Dir), had)
}

// run says what has to be put right in one directory. Pointers come first: what was moved aside has
// none that leads to it at any moment.
func (m *mender) run(t *tree, run string, found []Checkpoint) {
	best := ""
	if i := slices.IndexFunc(found, func(c Checkpoint) bool { return c.Torn == "" && c.Step != checkpoint.NoStep }); i >= 0 {
		best = found[i].Dir
	}
	whole := slices.ContainsFunc(found, func(c Checkpoint) bool { return c.Torn == "" })
	m.whole = m.whole || whole
	var all []Repair
	stay, kept := "", map[string]bool{}
	for _, p := range t.pointers {
		if path.Dir(p.path) != run {
			continue
		}
		if r, ok := m.turn(t, p, found, best); ok {
			all = append(all, r)
			for _, c := range found {
				kept[c.Dir] = kept[c.Dir] || r.Left != "" && p.names(c.Dir)
			}
			if best == "" {
				stay = "it leads to none, and there is no other"
			}
		}
	}
	if !whole {
		stay = "none beside it is whole"
	}
	for i, c := range found {
		if c.Torn == "" || whole && !inTheWay(found, i) {
			continue
		}
		r := m.move(t, c)
		if kept[c.Dir] && r.Left == "" {
			r.Left = "somebody had a pointer lead to it after the end of the run"
		}
		if r.Left == "" {
			m.torn++
		}
		all = append(all, r)
	}
	for i := range all {
		all[i].Left = cmp.Or(all[i].Left, stay)
	}
	m.found.Repairs = append(m.found.Repairs, all...)
}

// inTheWay says that programs which go on from the newest checkpoint of a directory would take the i-th, and not one that is whole: by its
// step, or by its time where the name has none. Programs that look for the name last begin anew if they do not find it.
func inTheWay(found []Checkpoint, i int) bool {
	if strings.HasPrefix(path.Base(found[i].Dir), "last") {
		return false
	}
	if found[i].Step != checkpoint.NoStep {
		return !slices.ContainsFunc(found[:i], func(c Checkpoint) bool { return c.Torn == "" && c.Step != checkpoint.NoStep })
	}
	return !slices.ContainsFunc(found, func(c Checkpoint) bool { return c.Torn == "" && !c.Changed.Before(found[i].Changed) })
}

// move is how a torn checkpoint goes out of the way of programs that look for checkpoints by their
// names. The new name is none of a checkpoint's, whatever part of it they look for.
func (m *mender) move(t *tree, c Checkpoint) Repair {
	from := filepath.Join(t.root, c.Dir)
	r := Repair{Path: from, Why: c.Torn, Left: changedSince(from, m.ended)}
	plain := filepath.Join(filepath.Dir(from), "torn."+strings.NewReplacer("-", ".", "=", ".", "_", ".").Replace(filepath.Base(from)))
	for n := 1; r.Now == "" && n < 1000; n++ {
		to := plain + ".part"
		if n > 1 {
			to = plain + "." + strconv.Itoa(n) + ".part"
		}
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) && !m.taken[to] {
			r.Now, m.taken[to] = to, true
		}
	}
	if r.Now == "" {
		r.Left = cmp.Or(r.Left, "there is no name for it")
	}
	return r
}

// turn has a pointer lead to the best checkpoint if it leads to a torn one, or to one that is gone.
func (m *mender) turn(t *tree, p pointer, found []Checkpoint, best string) (Repair, bool) {
	why := t.astray(p, found)
	if why == "" {
		return Repair{}, false
	}
	at := filepath.Join(t.root, p.path)
	r := Repair{Path: at, Was: p.text, Why: why, Left: changedSince(at, m.ended)}
	if best == "" {
		return r, true
	}
	r.Now = path.Base(best)
	switch {
	case checkpoint.ByStep(p.text, r.Now):
		r.Now = strconv.FormatInt(checkpoint.Step(r.Now), 10)
	case !p.link:
		r.Now = path.Join(path.Dir(p.text), r.Now)
	}
	return r, true
}

// astray is why a pointer does not lead to a checkpoint that can be used, "" if it does or if
// it is none.
func (t *tree) astray(p pointer, found []Checkpoint) string {
	for _, c := range found {
		if !p.names(c.Dir) {
			continue
		}
		if c.Torn == "" {
			return ""
		}
		return path.Base(c.Dir) + " is torn: " + c.Torn
	}
	if !checkpoint.MayName(p.text, found[0].Dir) {
		return "" // it says something else
	}
	if _, err := os.Stat(filepath.Join(t.root, path.Dir(p.path), path.Base(p.text))); err == nil {
		return ""
	}
	return p.text + " is not there"
}
